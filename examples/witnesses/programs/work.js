// Node: classes, closures, regular expressions, big integers, promises, sorting.
class Point { constructor(x, y) { this.x = x; this.y = y } add(o) { return new Point(this.x + o.x, this.y + o.y) } }
const counts = {}
for (const word of 'the cat and the dog and the end'.split(' ')) counts[word] = (counts[word] ?? 0) + 1
console.log('hello from node', counts, new Point(1, 2).add(new Point(3, 4)))
console.log(2n ** 100n, [3, 1, 2].sort().map(v => v * 2), 'a1b22'.replace(/\d+/g, d => d * 2), JSON.stringify({ a: [1, { b: null }] }))
Promise.resolve(7).then(value => console.log('later', value))
