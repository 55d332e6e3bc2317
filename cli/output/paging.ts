import { type Command, InvalidArgumentError } from 'commander'

export type PagingOptions = { limit: number; offset: number; all?: boolean }

type Page<Element> = { data: Element[]; meta: { elements: number; totalElements?: number; nextCursor?: string } }

export type PageRequest = { limit: number; offset: number; cursor?: string }

/** The maximum page size of the API. */
const pageSize = 100

/** Adds the options of a list to a command. */
export function withPagingOptions(command: Command): Command {
  return command
    .option('--limit <count>', 'maximum number of entries, up to 100', wholeNumber(1, pageSize), 50)
    .option('--offset <count>', 'number of entries to skip', wholeNumber(0, Number.MAX_SAFE_INTEGER), 0)
    .option('--all', 'read all pages')
}

/**
 * Reads one page or, with `all`, all pages in order. If a response contains a cursor, the next request uses it, because
 * large offsets are slow.
 */
export function pagesOf<Element extends object, P extends Page<Element>>(
  { limit, offset, all }: PagingOptions,
  readPage: (page: PageRequest) => Promise<P>,
): AsyncIterable<P> | Promise<P> {
  return all ? allPages(offset, readPage) : readPage({ limit, offset })
}

async function* allPages<P extends Page<object>>(
  offset: number,
  readPage: (page: PageRequest) => Promise<P>,
): AsyncGenerator<P> {
  let next: PageRequest | undefined = { limit: pageSize, offset }
  while (next !== undefined) {
    const page: P = await readPage(next)
    yield page
    const { elements, nextCursor, totalElements } = page.meta
    const seen: number = next.offset + elements
    if (nextCursor !== undefined) next = { limit: pageSize, offset: 0, cursor: nextCursor }
    else if (next.cursor !== undefined || elements < pageSize) next = undefined
    else next = totalElements !== undefined && seen >= totalElements ? undefined : { limit: pageSize, offset: seen }
  }
}

export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isInteger(value) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`Expected a whole number from ${minimum} to ${maximum}.`)
  }
}
