import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { Point } from './geometry.ts'
import { classIcon, type MapPalette } from './map-palette.ts'

/** The small shapes of the map: marks of changes, and icons of classes. */

/** Draws the mark of a change: plus, minus or delta in a disc. */
export function drawChangeMark(
  context: CanvasRenderingContext2D,
  kind: 'added' | 'changed' | 'removed',
  { x, y, size, palette }: Point & { size: number; palette: MapPalette },
): void {
  context.fillStyle = palette[kind]
  context.beginPath()
  context.arc(x, y, size / 2, 0, Math.PI * 2)
  context.fill()
  const arm = size * 0.26
  context.save()
  context.strokeStyle = palette.card
  context.lineWidth = Math.max(1, size * 0.13)
  context.beginPath()
  if (kind === 'changed') {
    context.moveTo(x, y - arm)
    context.lineTo(x + arm, y + arm * 0.8)
    context.lineTo(x - arm, y + arm * 0.8)
    context.closePath()
  } else {
    context.moveTo(x - arm, y)
    context.lineTo(x + arm, y)
    if (kind === 'added') {
      context.moveTo(x, y - arm)
      context.lineTo(x, y + arm)
    }
  }
  context.stroke()
  context.restore()
}

export function drawIcon(
  context: CanvasRenderingContext2D,
  assetClass: AssetClass,
  { x, y, size, colour }: Point & { size: number; colour: string },
): void {
  if (size < 5) return
  const icon = classIcon(assetClass)
  context.save()
  context.translate(x, y)
  context.scale(size / icon.size, size / icon.size)
  context.fillStyle = colour
  for (const { path, isEvenOdd } of icon.paths) context.fill(path, isEvenOdd ? 'evenodd' : 'nonzero')
  context.restore()
}
