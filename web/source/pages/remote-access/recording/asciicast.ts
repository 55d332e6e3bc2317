/**
 * This file reads recordings of terminals in asciicast format, version 2: a line with the size of the terminal, and one
 * line with the time, the kind and the text of each event. https://docs.asciinema.org/manual/asciicast/v2/
 */

export type TerminalSize = { columns: number; rows: number }

/** `CastEvent` is an output of the terminal or a new size. Times are in seconds after the start. */
export type CastEvent = { time: number; output: string } | { time: number; size: TerminalSize }

export type Cast = { size: TerminalSize; events: readonly CastEvent[]; durationSeconds: number }

const defaultSize: TerminalSize = { columns: 80, rows: 24 }
/** The highest number of columns and rows that are shown. */
const highestSize = 1_000

/** Reads a recording. Lines that are not valid, such as the last line of an incomplete recording, are left out. */
export function parseCast(text: string): Cast {
  const [first = '', ...lines] = text.split('\n')
  const events = lines.flatMap((line) => eventOf(parseJson(line)) ?? [])
  return { size: headerSize(parseJson(first)), events, durationSeconds: events.at(-1)?.time ?? 0 }
}

function headerSize(header: unknown): TerminalSize {
  if (typeof header !== 'object' || header === null) return defaultSize
  const { width, height } = header as { width?: unknown; height?: unknown }
  return sizeOf(Number(width), Number(height)) ?? defaultSize
}

function eventOf(line: unknown): CastEvent | undefined {
  if (!Array.isArray(line)) return undefined
  const [time, kind, text] = line as unknown[]
  if (typeof time !== 'number' || !(time >= 0) || typeof text !== 'string') return undefined
  if (kind === 'o') return { time, output: text }
  const [, columns, rows] = kind === 'r' ? (/^(\d+)x(\d+)$/.exec(text) ?? []) : []
  const size = sizeOf(Number(columns), Number(rows))
  return size === undefined ? undefined : { time, size }
}

function sizeOf(columns: number, rows: number): TerminalSize | undefined {
  const isValid = [columns, rows].every((value) => Number.isInteger(value) && value >= 1 && value <= highestSize)
  return isValid ? { columns, rows } : undefined
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Returns the events after one position and up to another position, in seconds. */
export function eventsBetween({ events }: Cast, after: number, until: number): CastEvent[] {
  return events.slice(indexAfter(events, after), indexAfter(events, until))
}

/** Returns the index of the first event after a position. The events are sorted by time. */
function indexAfter(events: readonly CastEvent[], position: number): number {
  let [low, high] = [0, events.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((events[middle]?.time ?? 0) <= position) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the time of the next event after a position, or undefined at the end. The player uses it to skip pauses. */
export function nextEventTime({ events }: Cast, position: number): number | undefined {
  return events[indexAfter(events, position)]?.time
}
