import { inventoryLimits } from '@millwright/api/inventory/inventory.ts'

type BatchOptions<Item> = { bytesOf?: (item: Item) => number; requestBytes?: number }

/** The default size limit of one batch in bytes. It is smaller than the size limit of a batch request. */
const defaultRequestBytes = 4_000_000

/** Groups items into batches that respect the item limit and the size limit of one request. */
export async function* batches<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { bytesOf = (item) => JSON.stringify(item).length, requestBytes = defaultRequestBytes }: BatchOptions<Item> = {},
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
