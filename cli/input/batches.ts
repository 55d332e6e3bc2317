import { inventoryLimits } from '@millwright/api/inventory.ts'

type Sizes<Item> = { bytesOf?: (item: Item) => number; requestBytes?: number }

/** Well below what one request with a batch may hold. */
const usualBytes = 4_000_000

/** As many as one request may be about and hold. */
export async function* batches<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { bytesOf = (item) => JSON.stringify(item).length, requestBytes = usualBytes }: Sizes<Item> = {},
): AsyncGenerator<Item[]> {
  let batch: Item[] = []
  let bytes = 0
  for await (const item of items) {
    const size = bytesOf(item)
    if (batch.length === inventoryLimits.batch || bytes + size > requestBytes) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(item)
    bytes += size
  }
  if (batch.length > 0) yield batch
}
