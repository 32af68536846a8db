// sql_job FILE: carries out a file of SQL on a database in memory, as SQLite's shell does. Ends with 1 where a
// statement fails.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static char* text_of(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  const long length = ftell(file);
  rewind(file);
  char* const text = malloc((size_t)length + 1);
  if (text == NULL || fread(text, 1, (size_t)length, file) != (size_t)length) return NULL;
  text[length] = '\0';
  fclose(file);
  return text;
}

int main(int count, char** words) {
  char* const sql = count == 2 ? text_of(words[1]) : NULL;
  if (sql == NULL) {
    fprintf(stderr, "sql_job: cannot read %s\n", count == 2 ? words[1] : "FILE: it takes one");
    return 2;
  }
  sqlite3* database;
  char* error = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
      sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK) {
    fprintf(stderr, "sql_job: %s\n", error != NULL ? error : sqlite3_errmsg(database));
    return 1;
  }
  sqlite3_close(database);
  free(sql);
  return 0;
}
