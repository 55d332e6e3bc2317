/**
 * Returns a pseudo-random number below 2^32. The number depends only on the seed, the index and the salt, so that a
 * plant of any size needs no memory. Each purpose has its own salt, so that the numbers of one index are independent.
 */
export function draw(seed: number, index: number, salt: number): number {
  let mixed = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca77) ^ Math.imul(salt, 0xc2b2ae3d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
  mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

export function pick<Value>(values: readonly [Value, ...Value[]], drawn: number): Value {
  return values[drawn % values.length] ?? values[0]
}
