import { setTimeout } from 'node:timers/promises'
import { type PlantAsset, plantAssets } from '@millwright/links/plant/generator.ts'
import { handleCommands } from './worker-process.ts'

/**
 * This process is a client that floods the platform. It is a separate process, because in the benchmark process the
 * creation of its batches would delay the measured requests.
 */
export type FloodCommand =
  | { kind: 'start'; url: string; token: string; callers: number; perBatch: number; schemaUrl?: string }
  | { kind: 'stop' }

export type FloodResult = { accepted: number; refused: number }

type Flood = { found: FloodResult; end(): Promise<void> }

const batchesReady = 150

let flood: Flood | undefined

handleCommands<FloodCommand>(async (command) => {
  if (command.kind === 'start') {
    flood = startFlood(command)
    return undefined
  }
  await flood?.end()
  return flood?.found
})
process.send?.({ ready: undefined })

/** Sends batches without a pause until the flood is stopped. Refusals (429, 503) are expected. */
function startFlood({ url, token, callers, ...options }: Extract<FloodCommand, { kind: 'start' }>): Flood {
  const found: FloodResult = { accepted: 0, refused: 0 }
  const nextBatch = options.schemaUrl === undefined ? plantBatches(options.perBatch) : expensiveBatches(options)
  // Batches are created before the flood, because creating them takes processor time from the platform.
  const ready = Array.from({ length: options.schemaUrl === undefined ? batchesReady : 1 }, nextBatch)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  let isOver = false
  const call = async () => {
    let body = ready.pop() ?? nextBatch()
    while (!isOver) {
      const response = await fetch(`${url}/inventory/v2/assets/batch`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      if (response.ok) {
        found.accepted += 1
        body = ready.pop() ?? nextBatch()
      } else if (response.status === 503 || response.status === 429) {
        found.refused += 1
        // This client ignores Retry-After. The pause only prevents a busy loop.
        await setTimeout(100)
      } else throw new Error(`A batch was refused with ${response.status}`)
    }
  }
  const running = Promise.all(Array.from({ length: callers }, call))
  return {
    found,
    async end() {
      isOver = true
      await running
    },
  }
}

function plantBatches(perBatch: number): () => string {
  const plant = plantAssets({ assets: Number.MAX_SAFE_INTEGER, seed: 8, relations: 0 })
  const next = () => (plant.next().value as PlantAsset).asset
  return () => JSON.stringify({ data: { assets: Array.from({ length: perBatch }, next) } })
}

function expensiveBatches({ perBatch, schemaUrl }: { perBatch: number; schemaUrl?: string }): () => string {
  const assets = Array.from({ length: perBatch }, (_, index) => ({
    functional_object_type: 'Device',
    functional_object_schema_url: schemaUrl,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'bench', value: `expensive ${index}` }],
  }))
  const body = JSON.stringify({ data: { assets } })
  return () => body
}
