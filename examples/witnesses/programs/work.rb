# Ruby: blocks, hashes, strings, big numbers, exceptions, structs.
Point = Struct.new(:x, :y) { def +(other) = Point.new(x + other.x, y + other.y) }
counts = "the cat and the dog and the end".split.tally.sort_by { |word, count| [-count, word] }
puts "hello from Ruby #{counts.first(3).inspect}"
puts (1..30).inject(:*), 2**100 % 1_000_007, (1..10).each_slice(3).map(&:sum).inspect
begin
  Integer("no number")
rescue ArgumentError => error
  puts error.message
end
puts (Point.new(1, 2) + Point.new(3, 4)).to_a.inspect, "%.6f %x" % [Math.sqrt(2), 48879], "héllo".upcase.bytes.length
fiber = Fiber.new { 3.times { |i| Fiber.yield i }; :done }
puts 4.times.map { fiber.resume }.inspect, [3, 1, 2].sort.reverse.inspect, "a1b22".gsub(/\d+/) { |d| (d.to_i * 2).to_s }
