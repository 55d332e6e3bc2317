import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type ExportFile, unfinishedExportStates } from '@millwright/api/exports.ts'
import { createAssets, killEverything } from './crash.ts'
import { type Caller, callerOf, startPlatform, temporaryFolder, until } from './platform.ts'

const home = temporaryFolder()
after(() => home[Symbol.dispose]())

/** The number of times that the test kills the platform. More rounds find more faults. */
const rounds = Number(process.env.MILLWRIGHT_CRASHES ?? 1)
const assets = 1_000
const formats = ['ndjson', 'aas-json', 'csv'] as const

test('finishes exports after kill -9, with each asset exactly once', async () => {
  let platform = await startPlatform({ home: home.path })
  try {
    let caller = await callerOf(platform)
    const assetIds = await createAssets(caller, 0, assets)
    for (let round = 1; round <= rounds; round++) {
      const exportIds: string[] = []
      for (const format of formats) {
        const columns = format === 'csv' ? { columns: ['id'] } : {}
        const body = { data: { what: 'assets' as const, format, ...columns } }
        exportIds.push((await caller.exports.createExport({ body })).data.exportId)
      }
      await until('an export has started', async () =>
        (await Promise.all(exportIds.map((id) => read(caller, id)))).some(({ state }) => state !== 'queued'),
      )
      await killEverything(platform, home.path)
      platform = await startPlatform({ home: home.path })
      caller = await callerOf(platform)
      for (const exportId of exportIds) {
        await until('the export has ended', async () => {
          const { state } = await read(caller, exportId)
          return !unfinishedExportStates.includes(state)
        })
        const file = await read(caller, exportId)
        assert.deepEqual([file.state, file.rows, file.problem], ['finished', assets, undefined])
        const exported = idsIn(file, await caller.exports.readExportContent({ params: { exportId } }))
        assert.deepEqual(exported.toSorted(), assetIds.toSorted())
        // The job ends after the export that it wrote.
        await until('the job has finished', async () => {
          const { data: job } = await caller.jobs.getJob({ params: { id: file.jobId } })
          return job.phase === 'finished'
        })
        await caller.exports.deleteExport({ params: { exportId } })
      }
    }
  } finally {
    await platform[Symbol.asyncDispose]()
  }
})

async function read(caller: Caller, exportId: string): Promise<ExportFile> {
  return (await caller.exports.readExport({ params: { exportId } })).data
}

/** Returns the ids of the assets in the content of an export. */
function idsIn({ request }: ExportFile, content: unknown): string[] {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  if (request.format === 'csv') return text.trimEnd().split('\r\n').slice(1)
  if (request.format === 'ndjson')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id)
  const { assetAdministrationShells: shells } = JSON.parse(text) as { assetAdministrationShells: { id: string }[] }
  return shells.map(({ id }) => /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=:shell$)/.exec(id)?.[0] ?? id)
}
