import type { Size } from './camera.ts'
import type { Box } from './geometry.ts'

export function overlaps(one: Box, other: Box): boolean {
  return (
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height
  )
}

export function isVisible({ x, y, width, height }: Box, size: Size): boolean {
  return x + width >= 0 && y + height >= 0 && x <= size.width && y <= size.height
}

export function hull(one: Box, other: Box): Box {
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)]
  return {
    x,
    y,
    width: Math.max(one.x + one.width, other.x + other.width) - x,
    height: Math.max(one.y + one.height, other.y + other.height) - y,
  }
}
