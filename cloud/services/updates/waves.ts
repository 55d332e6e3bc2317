import type { Wave } from '@millwright/api/updates.ts'

/**
 * Returns the wave of each of `count` devices that are in order, starting at wave 1. The remaining devices form one more wave.
 * A wave never splits the order: all devices of a wave come before all devices of the next one.
 */
export function waveNumbers(count: number, waves: readonly Wave[]): number[] {
  const numbers: number[] = []
  for (const [index, wave] of waves.entries()) {
    const size = 'count' in wave ? wave.count : Math.ceil((count * wave.percent) / 100)
    const devices = Math.min(size, count - numbers.length)
    for (let device = 0; device < devices; device++) numbers.push(index + 1)
  }
  while (numbers.length < count) numbers.push(waves.length + 1)
  return numbers
}
