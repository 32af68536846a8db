// lua_job FILE [WORD...]: runs a Lua program with these words, as Lua's interpreter does.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

int main(int count, char** words) {
  if (count < 2) {
    fprintf(stderr, "usage: lua_job FILE [WORD...]\n");
    return 2;
  }
  lua_State* const lua = luaL_newstate();
  if (lua == NULL) return 1;
  luaL_openlibs(lua);
  lua_createtable(lua, count, 0);
  for (int i = 1; i < count; ++i) {
    lua_pushstring(lua, words[i]);
    lua_rawseti(lua, -2, i - 1);
  }
  lua_setglobal(lua, "arg");
  const int failed = luaL_dofile(lua, words[1]);
  if (failed) fprintf(stderr, "lua_job: %s\n", lua_tostring(lua, -1));
  lua_close(lua);
  return failed ? 1 : 0;
}
