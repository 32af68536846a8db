-- An allocation-heavy job in Lua: strings, tables of records, closures, a queue and an interpreter. Ends with an error if
-- a result is wrong.
--
--     lua5.4 bench/loads/programs/lua_job.lua [SCALE]
--
-- Lua asks its C library for every string, table and closure: blocks of 16 to 100 bytes, reallocs of growing arrays, and a
-- collector that frees in the order of its list. What it does depends on nothing but SCALE. The milliseconds of each part
-- go to the file $SNUG_FIGURES, if that is set.

local scale = tonumber(arg[1] or "8")

local state = 1
local function random(bound)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % bound
end

local function expect(what, found, wanted)
  if found ~= wanted then error(what .. ": found " .. tostring(found) .. ", wanted " .. tostring(wanted), 0) end
end

local parts = {}

function parts.strings()
  local count = 12000 * scale
  local words = {}
  for i = 1, count do
    words[i] = string.format("%x-%s", random(32768) * i, ("ab"):rep(random(20)))
  end
  local text = table.concat(words, " ")
  local seen = 0
  for _ in text:gmatch("%S+") do seen = seen + 1 end
  expect("words", seen, count)
  local upper = text:upper():gsub("A", "aa")
  expect("letters", #upper, #text + select(2, text:gsub("a", "")))
end

function parts.records()
  local count = 8000 * scale
  local records = {}
  for i = 1, count do
    records[i] = { key = random(32768) * 32768 + random(32768), name = "record " .. i, tags = { random(9), random(9) } }
  end
  table.sort(records, function(a, b) return a.key < b.key end)
  local groups = {}
  for i, record in ipairs(records) do
    if i > 1 then expect("order", records[i - 1].key <= record.key, true) end
    local group = groups[record.tags[1]] or {}
    groups[record.tags[1]] = group
    group[#group + 1] = record.name
  end
  local total = 0
  for _, group in pairs(groups) do total = total + #group end
  expect("records", total, count)
end

function parts.closures()
  local count = 60000 * scale
  local functions = {}
  for i = 1, count do
    local slot = random(2000) + 1
    local before = functions[slot]
    functions[slot] = function(depth)
      if depth == 0 or not before then return i end
      return before(depth - 1)
    end
    if i % 50 == 0 then functions[slot] = function() return i end end
  end
  for _, each in pairs(functions) do expect("closure", each(0) <= count, true) end
end

function parts.queue()
  local count = 150000 * scale
  local first, last, length, sum = nil, nil, 0, 0
  for i = 1, count do
    local node = { value = i }
    if last then last.next = node else first = node end
    last, length = node, length + 1
    if length > 5000 then
      sum = sum + first.value
      first, length = first.next, length - 1
    end
  end
  while first do
    sum, first = sum + first.value, first.next
  end
  expect("sum", sum, count * (count + 1) // 2)
end

local function tree(depth)
  if depth == 0 then return { 1 } end
  return { random(2) == 0 and "+" or "-", tree(depth - 1), tree(depth - 1) }
end
local function leaves(node)
  return node[2] and leaves(node[2]) + leaves(node[3]) or 1
end
local function text_of(node)
  return node[2] and "(" .. text_of(node[2]) .. node[1] .. text_of(node[3]) .. ")" or "1"
end

function parts.interpreter()
  for _ = 1, 2 * scale do
    local node = tree(12)
    expect("leaves", leaves(node), 4096)
    local text = text_of(node)
    expect("ones", select(2, text:gsub("1", "")), 4096)
  end
end

local figures = {}
for _, name in ipairs({ "strings", "records", "closures", "queue", "interpreter" }) do
  local start = os.clock()
  parts[name]()
  local ms = (os.clock() - start) * 1000
  print(string.format("%-12s %8.1f ms", name, ms))
  figures[#figures + 1] = string.format('"%s": {"value": %.3f, "unit": "ms", "better": "lower"}', name, ms)
end
local path = os.getenv("SNUG_FIGURES")
if path then
  local file = assert(io.open(path, "w"))
  file:write("{", table.concat(figures, ",\n"), "}\n")
  file:close()
end
