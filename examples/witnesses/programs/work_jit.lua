-- LuaJIT with its compiler on: hot loops, FFI structures, tables, strings; the markers go through the FFI.
local ffi = require("ffi")
ffi.cdef "long write(int, const void *, unsigned long); typedef struct { double x, y; } point;"
local function mandelbrot(size)
  local inside = 0
  for py = 0, size - 1 do
    for px = 0, size - 1 do
      local x0, y0, x, y, steps = px / size * 3 - 2, py / size * 2 - 1, 0, 0, 0
      while x * x + y * y <= 4 and steps < 60 do
        x, y, steps = x * x - y * y + x0, 2 * x * y + y0, steps + 1
      end
      if steps == 60 then inside = inside + 1 end
    end
  end
  return inside
end
local function sieve(n)
  local composite, count = {}, 0
  for i = 2, n do
    if not composite[i] then
      count = count + 1
      for j = i * i, n, i do composite[j] = true end
    end
  end
  return count
end
local points = ffi.new("point[?]", 1000)
for i = 0, 999 do points[i].x, points[i].y = i, i * 0.5 end
local sum = 0
for round = 1, 50 do for i = 0, 999 do sum = sum + points[i].x * points[i].y end end
local text = {}
for i = 1, 2000 do text[#text + 1] = tostring(i * 37 % 101) end
print(mandelbrot(60), sieve(20000), sum, #table.concat(text), (jit.status()))
print(bit.bxor(0xdeadbeef, 0x12345678), bit.tohex(bit.rol(0x80000001, 4)), 2 ^ 53, 1 / 3)
