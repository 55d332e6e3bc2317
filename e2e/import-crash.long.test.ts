import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Caller,
  callerOf,
  databaseEnded,
  type Platform,
  startPlatform,
  temporaryFolder,
  until,
} from './platform.ts'
import { postgresOf } from './program.ts'

const home = temporaryFolder()
after(() => home[Symbol.dispose]())

/** The number of times that the test kills the platform. More rounds find more faults. */
const rounds = Number(process.env.MILLWRIGHT_CRASHES ?? 1)
const count = 3_000

test('continues an import after kill -9, with each row written once and none left out', async () => {
  let platform = await startPlatform({ home: home.path })
  try {
    let caller = await callerOf(platform)
    const rows = Array.from({ length: count }, (_, index) => `crash ${index},Acme,S-${index}\n`)
    const content = `Name,Manufacturer,Serial number\n${rows.join('')}`
    const { importId } = (await caller.imports.uploadFile({ body: { mediaType: 'text/csv', content } })).data
    const read = async () => (await caller.imports.readImport({ params: { importId } })).data
    for (let round = 1; round <= rounds; round++) {
      const { created, rows: stored } = await read()
      // The first round kills the platform while it writes rows, the others kill it anywhere.
      await until('the import made progress', async () => {
        const now = await read()
        return now.created > created || (round > 1 && now.rows > stored) || now.state === 'finished'
      })
      await killEverything(platform)
      platform = await startPlatform({ home: home.path })
      caller = await callerOf(platform)
    }
    await until('the import has ended', async () => !['queued', 'running'].includes((await read()).state))
    const ended = await read()
    assert.deepEqual(
      [ended.state, ended.rows, ended.created, ended.updated, ended.unchanged, ended.failed],
      ['finished', count, count, 0, 0, 0],
    )
    const query = { filter: "startswith(name, 'crash ')", limit: 1 }
    assert.equal((await caller.inventory.listAssets({ query })).meta.totalElements, count)
    // Events that the killed process was about to publish wait until its lease has expired.
    let changed: string[] = []
    await until('the events of all assets are published', async () => {
      changed = await changedAssets(caller)
      return new Set(changed).size >= count
    })
    assert.equal(changed.length, count, 'an asset was written twice')
  } finally {
    await platform[Symbol.asyncDispose]()
  }
})

/** Returns the subjects of the events about imported assets. */
async function changedAssets(caller: Caller): Promise<string[]> {
  const subjects: string[] = []
  for (let position = 0; ; ) {
    const { data, meta } = await caller.events.listEvents({ query: { after: position, limit: 100 } })
    for (const { type, subject, data: detail } of data)
      if (type.includes('inventory.asset.') && String(detail.name).startsWith('crash ')) subjects.push(subject)
    if (meta.lastPosition === position) return subjects
    position = meta.lastPosition
  }
}

/** Kills the platform, the database server and its watcher at the same time. */
async function killEverything({ program }: Platform): Promise<void> {
  const { pid } = program.child
  for (const victim of [...(pid === undefined ? [] : [pid]), ...postgresOf(home.path)]) {
    try {
      process.kill(victim, 'SIGKILL')
    } catch (error) {
      if ((error as { code?: string }).code !== 'ESRCH') throw error
    }
  }
  await program.ended
  await databaseEnded(home.path)
}
