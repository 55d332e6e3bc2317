import { type Answer, fullAt, percent } from './answer.ts'

/** The shares of the demand on the axis, as factors. Limits outside the axis are drawn at its end. */
const axis = [0.01, 0.1, 1, 10]
const size = { width: 800, left: 250, right: 30, top: 84, rowHeight: 34, bottom: 40 } as const

/**
 * Returns a picture of the share of each goal at which each limit is reached, as SVG with a text description. A dot on
 * the left of the line at 100 % is a limit that must be raised before the goal is reached.
 */
export function capacityChart(answers: readonly Answer[]): string {
  const names = [...new Set(answers.flatMap(({ limits }) => limits.map(({ name }) => name)))]
  const height = size.top + names.length * size.rowHeight + size.bottom
  const rowOf = (name: string) => size.top + (names.indexOf(name) + 0.5) * size.rowHeight
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" width="${size.width}" height="${height}"`,
    ` role="img" aria-labelledby="title description">\n`,
    '<title id="title">Share of a goal at which each limit is reached</title>\n',
    `<desc id="description">${answers.map(inWords).join('; ')}.</desc>\n`,
    `<style>${style}</style>\n`,
    `<rect class="ground" width="${size.width}" height="${height}" rx="8"/>\n`,
    '<text x="20" y="28">Share of the goal at which a limit is reached</text>\n',
    ...answers.map(
      ({ name }, index) =>
        `<text class="small" x="${20 + index * 150}" y="54"><tspan class="c${index}">●</tspan> ${name}</text>\n`,
    ),
    ...axis.map((share) => axisLine(share, height)),
    ...names.map((name) => `<text class="small" x="20" y="${rowOf(name) + 4}">${name}</text>\n`),
    ...answers.flatMap(({ limits }, index) =>
      limits.map(
        ({ name, share }) =>
          `<circle class="c${index}" cx="${x(share)}" cy="${rowOf(name) + (index - 1.5) * 6}" r="5"/>\n`,
      ),
    ),
    '</svg>\n',
  ].join('')
}

function axisLine(share: number, height: number): string {
  const kind = share === 1 ? 'goal' : 'grid'
  const bottom = height - size.bottom
  const line = `<line class="${kind}" x1="${x(share)}" x2="${x(share)}" y1="${size.top - 8}" y2="${bottom}"/>`
  return `${line}<text class="small soft" text-anchor="middle" x="${x(share)}" y="${bottom + 20}">${percent(share)}</text>\n`
}

/** Returns the position of a share on the logarithmic axis. */
function x(share: number): number {
  const [least = 0.01, most = 10] = [axis[0], axis.at(-1)]
  const along = Math.log(share / least) / Math.log(most / least)
  const width = size.width - size.left - size.right
  return Math.round((size.left + Math.min(1, Math.max(0, along)) * width) * 10) / 10
}

function inWords({ name, limits }: Answer): string {
  return `${name}: ${limits.map((limit) => `${limit.name} ${fullAt(limit.share)}`).join(', ')}`
}

const colors = [
  ['#0b6fb8', '#5db3f0'],
  ['#b45309', '#f0a04b'],
  ['#15803d', '#4ade80'],
  ['#9333ea', '#c99bff'],
] as const

const variables = (which: 0 | 1) => colors.map((pair, index) => `--c${index}:${pair[which]}`).join(';')

const style = `
svg{font:600 14px system-ui,sans-serif;--ink:#1c2733;--soft:#5b6876;--ground:#fff;--line:#d9e0e7;${variables(0)}}
@media(prefers-color-scheme:dark){svg{--ink:#e8edf2;--soft:#9aa8b6;--ground:#12181f;--line:#2c3742;${variables(1)}}}
text{fill:var(--ink)}.small{font-size:12px;font-weight:400}.soft{fill:var(--soft)}
.ground{fill:var(--ground)}.grid{stroke:var(--line)}.goal{stroke:var(--ink);stroke-dasharray:4 3}
${colors.map((_, index) => `circle.c${index},tspan.c${index}{fill:var(--c${index})}`).join('\n')}
`
