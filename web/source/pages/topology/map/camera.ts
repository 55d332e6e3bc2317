import type { Box } from './geometry.ts'

/**
 * The part of the map that is visible: the point in the left upper corner, and the number of pixels per unit. `stretch` is the
 * number of pixels per vertical unit, divided by that per horizontal unit, so that a box can fill a window of another shape.
 */
export type Camera = { x: number; y: number; scale: number; stretch: number }

export type Size = { width: number; height: number }

/** The limits of the zoom, relative to the scale at which the whole map is visible. */
const zoomLimits = { lowest: 0.6, highest: 4_000 } as const

/** Returns the camera that shows a box completely, with a margin in pixels. It stretches the box up to `mostStretch`. */
export function cameraFor(box: Box, size: Size, { margin = 12, mostStretch = 1 } = {}): Camera {
  const across = Math.max(0.01, (size.width - 2 * margin) / box.width)
  const down = Math.max(0.01, (size.height - 2 * margin) / box.height)
  const scale = Math.min(across, down * mostStretch)
  const stretch = Math.min(down, across * mostStretch) / scale
  return {
    scale,
    stretch,
    x: box.x - (size.width / scale - box.width) / 2,
    y: box.y - (size.height / (scale * stretch) - box.height) / 2,
  }
}

/** Returns the camera after a zoom by a factor at a point on the screen. */
export function zoomed(
  camera: Camera,
  factor: number,
  { at, whole }: { at: { x: number; y: number }; whole: Camera },
): Camera {
  const scale = Math.min(
    whole.scale * zoomLimits.highest,
    Math.max(whole.scale * zoomLimits.lowest, camera.scale * factor),
  )
  const { stretch } = camera
  return {
    scale,
    stretch,
    x: camera.x + at.x / camera.scale - at.x / scale,
    y: camera.y + (at.y / camera.scale - at.y / scale) / stretch,
  }
}

export function moved({ x, y, scale, stretch }: Camera, by: { x: number; y: number }): Camera {
  return { scale, stretch, x: x - by.x / scale, y: y - by.y / (scale * stretch) }
}

/** Returns the box on the screen. */
export function onScreen({ x, y, scale, stretch }: Camera, box: Box): Box {
  const down = scale * stretch
  return { x: (box.x - x) * scale, y: (box.y - y) * down, width: box.width * scale, height: box.height * down }
}

/** Returns a camera between two cameras. The scale changes by a constant factor, so that the zoom looks even. */
export function between(from: Camera, to: Camera, part: number): Camera {
  const scale = from.scale * (to.scale / from.scale) ** part
  // The centre of the zoom is the point that both cameras show at the same place.
  const share = from.scale === to.scale ? part : (1 / scale - 1 / from.scale) / (1 / to.scale - 1 / from.scale)
  const stretch = from.stretch + (to.stretch - from.stretch) * part
  return { scale, stretch, x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}
