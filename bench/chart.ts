import { readFileSync, writeFileSync } from 'node:fs'
import type { Row } from './report.ts'

/**
 * `Costs` contains the cost of a request for each workload and number of assets. The cost is the time of one core in
 * milliseconds, for the platform and the database together.
 */
export type Costs = Record<string, Record<string, number>>

/** The workloads in the chart, and their labels. */
const drawn: Readonly<Record<string, string>> = {
  'read by id': 'by id',
  'list by serial number': 'by serial number',
  'list by text of one': 'text search, one match',
  'list 50 of one gateway': '50 of a gateway',
  'list 50 by beginning of name': '50 by name prefix',
  'list 100 with total': '100 without a filter, with the total',
  'list latest first': 'the 100 latest changes',
  'total of many by makerAndState': '100 by manufacturer and state, with the total',
}

/**
 * Adds the measured costs to `<path>.json`, which also contains the costs of other plant sizes. Then draws
 * `<path>.svg`.
 */
export function keepChart(path: string, { assets, rows }: { assets: number; rows: readonly Row[] }): void {
  const costs = { ...costsAt(path), [assets]: costsOf(rows) }
  writeFileSync(`${path}.json`, `${JSON.stringify(costs, undefined, 2)}\n`)
  writeFileSync(`${path}.svg`, chart(costs))
}

function costsAt(path: string): Costs {
  try {
    return JSON.parse(readFileSync(`${path}.json`, 'utf8'))
  } catch {
    return {}
  }
}

/**
 * Returns the costs of the workloads in the chart, in milliseconds. Only measurements with several callers are used.
 */
function costsOf(rows: readonly Row[]): Record<string, number> {
  const many = rows.filter(({ workload, callers }) => callers !== 1 && Object.hasOwn(drawn, String(workload)))
  return Object.fromEntries(
    many.map((row) => {
      const micros = Number(row['CPU µs']) + Number(row['database CPU µs'])
      return [String(row.workload), Math.round(micros) / 1000]
    }),
  )
}

const size = { width: 800, height: 420, left: 64, right: 290, top: 56, bottom: 44 } as const
const decades = [0.1, 1, 10, 100]
const labelHeight = 17

/** Returns the chart as SVG with a text description. The chart supports light and dark themes. */
export function chart(costs: Costs): string {
  const sizes = Object.keys(costs)
    .map(Number)
    .toSorted((one, other) => one - other)
  const x = (assets: number) => size.left + along(assets, sizes[0] ?? 1, sizes.at(-1) ?? 10) * inner.width
  const y = (ms: number) => size.height - size.bottom - along(ms, decades[0] ?? 1, decades.at(-1) ?? 10) * inner.height
  const lines = Object.entries(drawn).flatMap(([workload, label], index) => {
    const points = sizes.flatMap((assets) => {
      const ms = costs[assets]?.[workload]
      return ms === undefined ? [] : [{ assets, ms }]
    })
    return points.length === 0 ? [] : [{ label, points, color: `c${index}` }]
  })
  const places = spread(lines.map(({ points }) => y(points.at(-1)?.ms ?? 1)))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}"`,
    ` height="${size.height}" role="img" aria-labelledby="title description">\n`,
    `<title id="title">Cost of a request by the number of assets</title>\n`,
    `<desc id="description">${lines.map(inWords).join('; ')}.</desc>\n`,
    `<style>${style}</style>\n`,
    `<rect class="ground" width="${size.width}" height="${size.height}" rx="8"/>\n`,
    `<text x="${size.left}" y="26">Milliseconds of one core for a request, platform and database</text>\n`,
    ...decades.map((ms) => grid(y(ms), ms)),
    ...sizes.map(
      (assets) =>
        `<text class="small" text-anchor="middle" x="${rounded(x(assets))}" y="${size.height - 18}">${assets.toLocaleString('en')} assets</text>\n`,
    ),
    ...lines.map(({ label, points, color }, index) => {
      const path = points.map(({ assets, ms }) => `${rounded(x(assets))},${rounded(y(ms))}`)
      const dots = points.map(
        ({ assets, ms }) => `<circle class="${color}" cx="${rounded(x(assets))}" cy="${rounded(y(ms))}" r="3.5"/>`,
      )
      const last = points.at(-1)?.ms ?? 0
      const named = `<text class="small" x="${size.width - size.right + 14}" y="${rounded((places[index] ?? 0) + 4)}">`
      return `<polyline class="${color}" points="${path.join(' ')}"/>${dots.join('')}${named}<tspan class="${color}">●</tspan> ${label}: ${shown(last)} ms</text>\n`
    }),
    '</svg>\n',
  ].join('')
}

const inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom }

const colors = [
  ['#0b6fb8', '#5db3f0'],
  ['#b45309', '#f0a04b'],
  ['#15803d', '#4ade80'],
  ['#9333ea', '#c99bff'],
  ['#be123c', '#fb7185'],
  ['#0f766e', '#2dd4bf'],
  ['#64748b', '#a3b3c6'],
  ['#a16207', '#fde047'],
] as const

const variables = (which: 0 | 1) => colors.map((pair, index) => `--c${index}:${pair[which]}`).join(';')

const style = `
svg{font:600 14px system-ui,sans-serif;--ink:#1c2733;--soft:#5b6876;--ground:#fff;--line:#d9e0e7;${variables(0)}}
@media(prefers-color-scheme:dark){svg{--ink:#e8edf2;--soft:#9aa8b6;--ground:#12181f;--line:#2c3742;${variables(1)}}}
text{fill:var(--ink)}.small{font-size:12px;font-weight:400}.soft{fill:var(--soft)}
.ground{fill:var(--ground)}.grid{stroke:var(--line)}polyline{fill:none;stroke-width:2}
${colors.map((_, index) => `polyline.c${index}{stroke:var(--c${index})}circle.c${index},tspan.c${index}{fill:var(--c${index})}`).join('\n')}
`

function grid(at: number, ms: number): string {
  return `<line class="grid" x1="${size.left}" x2="${size.width - size.right}" y1="${rounded(at)}" y2="${rounded(at)}"/><text class="small soft" text-anchor="end" x="${size.left - 8}" y="${rounded(at + 4)}">${ms}</text>\n`
}

/** Returns the position of a value on a logarithmic axis, from 0 to 1. */
function along(value: number, least: number, most: number): number {
  const share = Math.log(value / least) / Math.log(most / least)
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 0
}

/** Moves overlapping labels apart and preserves their order. */
function spread(places: readonly number[]): number[] {
  const order = places.map((place, index) => ({ place, index })).toSorted((one, other) => other.place - one.place)
  let lowest = size.height - size.bottom + labelHeight
  const moved = [...places]
  for (const { place, index } of order) {
    lowest = Math.min(place, lowest - labelHeight)
    moved[index] = lowest
  }
  return moved
}

function inWords({ label, points }: { label: string; points: readonly { assets: number; ms: number }[] }): string {
  const each = points.map(({ assets, ms }) => `${shown(ms)} ms of ${assets.toLocaleString('en')}`)
  return `${label}: ${each.join(', ')}`
}

function shown(ms: number): string {
  return String(Number(ms.toPrecision(2)))
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
