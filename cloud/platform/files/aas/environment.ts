import { damaged, type EnvironmentItem } from './environment-item.ts'
import { jsonItems } from './environment-json.ts'
import { xmlItems } from './environment-xml.ts'

/** Reads the shells and submodels of an environment in JSON or XML, one after the other. */
export async function* environmentItems(chunks: AsyncIterable<string>): AsyncGenerator<EnvironmentItem> {
  const iterator = chunks[Symbol.asyncIterator]()
  let start = ''
  while (start.trim() === '') {
    const next = await iterator.next()
    if (next.done === true) throw damaged('it is empty')
    start += next.value
  }
  start = start.replace(/^\ufeff/, '').trimStart()
  const all = prefixed(start, iterator)
  yield* start.startsWith('<') ? xmlItems(all) : jsonItems(all)
}

async function* prefixed(start: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  yield start
  yield* { [Symbol.asyncIterator]: () => rest }
}
