import type { AssetClass } from '@millwright/api/asset-class.ts'
import { classShape } from '../../../components/values/asset-classes.ts'

/** `MapPalette` contains the colours of the design system as values that a canvas accepts, for the current theme. */
export type MapPalette = {
  ground: string
  card: string
  raised: string
  line: string
  edge: string
  strong: string
  text: string
  quiet: string
  reached: string
  failed: string
  /** The colour of texts about failures. */
  alarm: string
  unknown: string
  stopped: string
  /** The colour of controllers whose last known mode is stop. It is drawn as a broken line. */
  stoppedKnown: string
  outdated: string
  added: string
  changed: string
  removed: string
  font: string
}

const tokens = {
  ground: '--theme-color-2',
  card: '--theme-color-1',
  raised: '--theme-color-3',
  line: '--theme-color-soft-bdr',
  edge: '--theme-color-weak-text',
  strong: '--theme-color-primary',
  text: '--theme-color-std-text',
  quiet: '--theme-color-soft-text',
  // Seen is the normal state and does not prove that a device is reachable now, so it is not green.
  reached: '--theme-color-neutral',
  failed: '--theme-color-alarm',
  alarm: '--theme-color-alarm-text',
  unknown: '--theme-color-weak-bdr',
  stopped: '--theme-color-critical',
  stoppedKnown: '--theme-color-critical',
  outdated: '--theme-color-warning',
  added: '--theme-color-info',
  changed: '--theme-color-warning',
  removed: '--theme-color-std-text',
} as const

export function mapPaletteOf(element: HTMLElement): MapPalette {
  const style = getComputedStyle(element)
  const colours = Object.entries(tokens).map(([name, token]) => [name, style.getPropertyValue(token).trim()])
  return { ...Object.fromEntries(colours), font: style.fontFamily }
}

export type ClassIcon = { paths: readonly { path: Path2D; isEvenOdd: boolean }[]; size: number }

const icons = new Map<AssetClass, ClassIcon>()

/** Returns the icon of a class as paths. The icons of the design system are SVG texts. */
export function classIcon(assetClass: AssetClass): ClassIcon {
  const known = icons.get(assetClass)
  if (known !== undefined) return known
  const { paths: shapes, size, isEvenOdd } = classShape(assetClass)
  const paths = shapes.map(({ d, transform = '' }) => {
    const [, x = '0', y = '0'] = /translate\(([\d.]+)[ ,]+([\d.]+)\)/.exec(transform) ?? []
    const path = new Path2D()
    path.addPath(new Path2D(d), new DOMMatrix([1, 0, 0, 1, Number(x), Number(y)]))
    return { path, isEvenOdd }
  })
  const icon = { paths, size }
  icons.set(assetClass, icon)
  return icon
}
