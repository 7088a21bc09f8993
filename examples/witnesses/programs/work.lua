-- Lua: tables, closures, string patterns, coroutines, metatables, sorting.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local words = {}
for word in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do words[#words + 1] = word end
table.sort(words, function(a, b) return #a < #b or (#a == #b and a < b) end)
local numbers = coroutine.wrap(function() for i = 1, 5 do coroutine.yield(i * i) end end)
local point = setmetatable({x = 1, y = 2}, {__add = function(a, b) return a.x + b.x + a.y * b.y end})
local parts = {}
for i = 1, 300 do parts[#parts + 1] = string.format("%d:%05.2f", i, math.sqrt(i)) end
local text = table.concat(parts, ",")
print(fib(20), table.concat(words, " "), numbers() + numbers() + numbers(), point + point)
print(#text, text:sub(-20), (text:gsub("%d+:", "")):sub(1, 30), select("#", text:find("100:10.00", 1, true)))
print(pcall(error, "thrown"), math.floor(-3.5), 7 // 2 or 0, 2 ^ 0.5)
