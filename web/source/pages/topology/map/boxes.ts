import type { Size } from './camera.ts'
import type { Box } from './scene.ts'

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

/** Returns the point on the border of a box in the direction of another box. */
export function borderPoint(from: Box, to: Box): { x: number; y: number } {
  const [x, y] = [from.x + from.width / 2, from.y + from.height / 2]
  const [dx, dy] = [to.x + to.width / 2 - x, to.y + to.height / 2 - y]
  if (dx === 0 && dy === 0) return { x, y }
  const part = Math.min(from.width / 2 / Math.abs(dx || 1e-9), from.height / 2 / Math.abs(dy || 1e-9))
  return { x: x + dx * part, y: y + dy * part }
}
