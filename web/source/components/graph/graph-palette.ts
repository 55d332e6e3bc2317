import type { Attributes } from 'graphology-types'
import type { Settings } from 'sigma/settings'
import type { NodeDisplayData, PartialButFor } from 'sigma/types'

/** `Palette` contains the colours of the design system as values that a canvas accepts, for the current theme. */
export type Palette = {
  colour: (token: string | undefined) => string
  text: string
  quiet: string
  ground: string
  edge: string
  strong: string
  faded: string
  font: string
}

export function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element)
  const context = document.createElement('canvas').getContext('2d')
  const colours = new Map<string, string>()
  const colour = (token = '--theme-color-neutral') => {
    const colour = colours.get(token) ?? plainColour(context, style.getPropertyValue(token))
    colours.set(token, colour)
    return colour
  }
  return {
    colour,
    text: colour('--theme-color-std-text'),
    quiet: colour('--theme-color-soft-text'),
    ground: colour('--theme-color-1'),
    edge: colour('--theme-color-7'),
    strong: colour('--theme-color-primary'),
    faded: colour('--theme-color-4'),
    font: style.fontFamily,
  }
}

/** Converts a CSS colour to six hexadecimal digits, or to `rgba()` if it is transparent. */
function plainColour(context: CanvasRenderingContext2D | null, value: string): string {
  if (context === null) return '#888888'
  context.fillStyle = '#888888'
  context.fillStyle = value.trim()
  return context.fillStyle
}

type DisplayedNode = PartialButFor<NodeDisplayData, 'x' | 'y' | 'size' | 'label' | 'color'>

const padding = 4

type DrawOptions<N extends Attributes, E extends Attributes> = { settings: Settings<N, E>; palette: Palette }

/**
 * Draws the label of a node. The label has an outline in the background colour, so that it is readable above relations.
 */
export function drawLabel<N extends Attributes, E extends Attributes>(
  context: CanvasRenderingContext2D,
  { x, y, size, label }: DisplayedNode,
  { settings, palette }: DrawOptions<N, E>,
): void {
  if (!label) return
  const place = [x + size + 3, y + settings.labelSize / 3] as const
  context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`
  context.lineJoin = 'round'
  context.lineWidth = 4
  context.strokeStyle = palette.ground
  context.strokeText(label, ...place)
  context.fillStyle = palette.text
  context.fillText(label, ...place)
}

/** Draws the label of the hovered node on a filled background. */
export function drawHover<N extends Attributes, E extends Attributes>(
  context: CanvasRenderingContext2D,
  { x, y, size, label, color }: DisplayedNode,
  { settings, palette }: DrawOptions<N, E>,
): void {
  context.font = `600 ${settings.labelSize}px ${settings.labelFont}`
  if (label) {
    const width = context.measureText(label).width + size + padding * 4
    const height = Math.max(settings.labelSize + padding * 3, size * 2 + padding)
    context.fillStyle = palette.ground
    context.strokeStyle = palette.edge
    context.beginPath()
    context.roundRect(x - padding, y - height / 2, width, height, height / 2)
    context.fill()
    context.stroke()
    context.fillStyle = palette.text
    context.fillText(label, x + size + padding, y + settings.labelSize / 3)
  }
  context.fillStyle = color
  context.strokeStyle = palette.strong
  context.lineWidth = 2
  context.beginPath()
  context.arc(x, y, size, 0, Math.PI * 2)
  context.fill()
  context.stroke()
}
