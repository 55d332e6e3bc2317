import { type Command, InvalidArgumentError } from 'commander'

export type Paging = { limit: number; offset: number; all?: boolean }

type Page<Element> = { data: Element[]; meta: { elements: number; totalElements?: number; nextCursor?: string } }

export type Asked = { limit: number; offset: number; cursor?: string }

/** The most that one answer may hold. */
const pageSize = 100

/** The options of a list. */
export function paged(command: Command): Command {
  return command
    .option('--limit <count>', 'how many, 100 at most', wholeNumber(1, pageSize), 50)
    .option('--offset <count>', 'how many to skip', wholeNumber(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--all', 'all of them, page by page')
}

/** One page, or all of them one after the other: by cursor where there is one, which costs the same at any depth. */
export function pagesOf<Element extends object, P extends Page<Element>>(
  { limit, offset, all }: Paging,
  ask: (asked: Asked) => Promise<P>,
): AsyncIterable<P> | Promise<P> {
  return all ? following(offset, ask) : ask({ limit, offset })
}

async function* following<P extends Page<object>>(
  offset: number,
  ask: (asked: Asked) => Promise<P>,
): AsyncGenerator<P> {
  let next: Asked | undefined = { limit: pageSize, offset }
  while (next !== undefined) {
    const page: P = await ask(next)
    yield page
    const { elements, nextCursor, totalElements } = page.meta
    const seen: number = next.offset + elements
    if (nextCursor !== undefined) next = { limit: pageSize, offset: 0, cursor: nextCursor }
    else if (next.cursor !== undefined || elements < pageSize) next = undefined
    else next = totalElements !== undefined && seen >= totalElements ? undefined : { limit: pageSize, offset: seen }
  }
}

export function wholeNumber(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = Number(given)
    if (Number.isInteger(value) && value >= least && value <= most) return value
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`)
  }
}
