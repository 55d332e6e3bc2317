import type { Workflow } from '@millwright/api/workflows.ts'
import { type Box, type Line, layoutOf, type Point } from './layout.ts'
import { groupOf, initialState, isFinal } from './workflow.ts'

/**
 * Draws a workflow as an SVG picture. The picture contains a text description, supports light and dark mode, and
 * contains no scripts.
 */
export function picture(workflow: Workflow): string {
  const { boxes, lines, width, height } = layoutOf(workflow, shortened)
  const legendTop = height + 8
  const total = { width: Math.max(Math.ceil(width), legendWidth), height: Math.ceil(legendTop + legendHeight) }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${total.width} ${total.height}" width="${total.width}"`,
    ` height="${total.height}" role="img" aria-labelledby="title description">\n`,
    `<title id="title">Workflow ${escaped(workflow.name)}</title>\n`,
    `<desc id="description">${escaped(inWords(workflow))}</desc>\n`,
    `<style>${style}</style>\n`,
    `<rect class="ground" width="${total.width}" height="${total.height}" rx="8"/>\n`,
    ...lines.map((line) => arrow(workflow, line)),
    ...boxes.map((box) => state(workflow, box)),
    legend(legendTop),
    '</svg>\n',
  ].join('')
}

const longestLabel = 28
const legendHeight = 34
const legendWidth = 560
const tipLength = 8

const style = `
svg{font:600 13px system-ui,sans-serif;--ink:#1c2733;--soft:#5b6876;--ground:#fff;--box:#f2f5f8;--line:#8696a7;--client:#0b6fb8;--engine:#b45309}
@media(prefers-color-scheme:dark){svg{--ink:#e8edf2;--soft:#9aa8b6;--ground:#12181f;--box:#1e2730;--line:#5f6f7f;--client:#5db3f0;--engine:#f0a04b}}
text{fill:var(--ink)}.small{font-size:11px;font-weight:400;fill:var(--soft)}
.ground{fill:var(--ground)}.box{fill:var(--box);stroke:var(--line);stroke-width:1.5}.end{fill:none;stroke:var(--line)}
.begin{fill:var(--ink)}
.arrow{fill:none;stroke-width:2}.client{stroke:var(--client)}.engine{stroke:var(--engine);stroke-dasharray:7 5}
.immediate{stroke:var(--engine);stroke-dasharray:2 3}.either{stroke:var(--client);stroke-width:5}
.tip{stroke:none}.client.tip,.either.tip{fill:var(--client)}.engine.tip,.immediate.tip{fill:var(--engine)}
.gap{fill:none;stroke:var(--ground);stroke-width:2}
`

type Kind = 'client' | 'engine' | 'immediate' | 'either'

/** Returns which side can use a transition: the client, the platform (on request or immediately), or both. */
function kindOf({ transitions }: Workflow, line: Pick<Line, 'from' | 'to'>): Kind {
  const along = transitions.filter(({ from, to }) => from === line.from && to === line.to)
  const client = along.some(({ eligible }) => eligible === 'CLIENT')
  if (along.some(({ action }) => action === 'IMMEDIATE')) return 'immediate'
  if (along.some(({ eligible }) => eligible === 'WFX')) return client ? 'either' : 'engine'
  return 'client'
}

const sideNames: Readonly<Record<Kind, string>> = {
  client: 'by the client',
  engine: 'by the platform',
  immediate: 'immediately',
  either: 'by client or platform',
}

function inWords(workflow: Workflow): string {
  const pairs = new Map(workflow.transitions.map(({ from, to }) => [JSON.stringify([from, to]), { from, to }]))
  const moves = [...pairs.values()]
    .filter(({ from, to }) => from !== to)
    .map(({ from, to }) => `${from} to ${to} ${sideNames[kindOf(workflow, { from, to })]}`)
  const final = workflow.states.map(({ name }) => name).filter((name) => isFinal(workflow, name))
  const about = workflow.description === undefined ? '' : `${workflow.description}. `
  return `${about}Begins in ${initialState(workflow)}, ends in ${final.join(', ')}. ${moves.join('; ')}.`
}

function arrow(workflow: Workflow, line: Line): string {
  const kind = kindOf(workflow, line)
  const path = curve(line.points)
  const gap = kind === 'either' ? `<path class="gap" d="${path}"/>` : ''
  const { x, y } = line.points.at(-1) ?? { x: 0, y: 0 }
  return `<path class="arrow ${kind}" d="${path}"/>${gap}<path class="${kind} tip" d="${tip(x, y)}"/>\n`
}

/** Draws the tip of an arrow. Every line ends horizontally, so the tip points to the right. */
function tip(x: number, y: number): string {
  return `M${round(x - 10)} ${round(y - 5)} ${round(x)} ${round(y)} ${round(x - 10)} ${round(y + 5)}Z`
}

/** Draws a smooth line through the points. The line is horizontal at each point. */
function curve(points: readonly Point[]): string {
  const [first = { x: 0, y: 0 }, ...rest] = points
  let before = first
  const parts = rest.map((point, index) => {
    const x = index === rest.length - 1 ? point.x - tipLength : point.x
    const middle = round((before.x + x) / 2)
    const part = `C${middle} ${round(before.y)} ${middle} ${round(point.y)} ${round(x)} ${round(point.y)}`
    before = point
    return part
  })
  return `M${round(first.x)} ${round(first.y)}${parts.join('')}`
}

function state(workflow: Workflow, { state: name, x, y, width, height }: Box): string {
  const group = groupOf(workflow, name)
  const middle = round(x + width / 2)
  const end = isFinal(workflow, name)
    ? `<rect class="end" x="${round(x + 3)}" y="${round(y + 3)}" width="${round(width - 6)}" height="${round(height - 6)}" rx="6"/>`
    : ''
  const begin =
    name === initialState(workflow)
      ? `<circle class="begin" cx="${round(x - 22)}" cy="${round(y + height / 2)}" r="6"/>` +
        `<path class="begin" d="M${round(x - 16)} ${round(y + height / 2 - 1)}h8v2h-8Z${tip(x, y + height / 2)}"/>`
      : ''
  const label = `<text x="${middle}" y="${round(y + (group === undefined ? 29 : 22))}" text-anchor="middle">${escaped(shortened(name))}</text>`
  const below =
    group === undefined
      ? ''
      : `<text class="small" x="${middle}" y="${round(y + 38)}" text-anchor="middle">${escaped(shortened(group))}</text>`
  const full = workflow.states.find((state) => state.name === name)?.description
  const hint = `<title>${escaped(full === undefined ? name : `${name}: ${full}`)}</title>`
  const frame = `<rect class="box" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="8"/>`
  return `<g>${hint}${begin}${frame}${end}${label}${below}</g>\n`
}

function legend(top: number): string {
  const entries: [Kind, string][] = [
    ['client', 'client'],
    ['engine', 'platform'],
    ['either', 'either'],
    ['immediate', 'immediately'],
  ]
  const shown = entries.map(([kind, label], index) => {
    const x = 28 + index * 105
    const path = `M${x} ${top + 10}h34`
    const gap = kind === 'either' ? `<path class="gap" d="${path}"/>` : ''
    return `<path class="arrow ${kind}" d="${path}"/>${gap}<text class="small" x="${x + 42}" y="${top + 14}">${label}</text>`
  })
  const end = `<rect class="box" x="448" y="${top + 2}" width="26" height="16" rx="4"/><rect class="end" x="450.5" y="${top + 4.5}" width="21" height="11" rx="3"/><text class="small" x="482" y="${top + 14}">end</text>`
  return `<g aria-hidden="true">${shown.join('')}${end}</g>\n`
}

function shortened(text: string): string {
  return text.length <= longestLabel ? text : `${text.slice(0, longestLabel - 1)}…`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
