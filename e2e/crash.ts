import assert from 'node:assert/strict'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { type Caller, databaseEnded, type Platform, until } from './platform.ts'
import { postgresOf } from './program.ts'
import { withinLimit } from './time-limit.ts'

/** Creates the assets with the numbers from `from` to `to`. Returns their ids. */
export async function createAssets(caller: Caller, from: number, to: number): Promise<string[]> {
  const documents = Array.from({ length: to - from }, (_, index) => ({
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name: `crash ${from + index}`,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `crash-${from + index}` }],
  }))
  const { data } = await caller.inventory.createAssets({ body: { data: { assets: documents } } })
  const read = async () =>
    (await caller.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })).data
  await until('the assets are written', async () => (await read()).state !== 'queued')
  const { state, detail } = await read()
  assert.equal(state, 'finished', JSON.stringify(detail).slice(0, 500))
  return (detail.result as { assetId: string }[]).map(({ assetId }) => assetId)
}

/** Kills the platform, the database server and its watcher at the same time. */
export async function killEverything({ program }: Platform, home: string): Promise<void> {
  const { pid } = program.child
  for (const victim of [...(pid === undefined ? [] : [pid]), ...postgresOf(home)]) {
    try {
      process.kill(victim, 'SIGKILL')
    } catch (error) {
      if ((error as { code?: string }).code !== 'ESRCH') throw error
    }
  }
  await withinLimit('the program ends after SIGKILL', program.ended)
  await databaseEnded(home)
}
