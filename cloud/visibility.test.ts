import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type ExportContent,
  type ExportRequest,
  exportContents,
  formatsOf,
  unfinishedExportStates,
} from '@millwright/api/exports.ts'
import { type ImportRow, importMediaTypes } from '@millwright/api/imports.ts'
import { growingPause, onlyInLongRuns, randomCases } from '@millwright/api/test-effort.ts'
import { idsIn } from './platform/asset-visibility.ts'
import { temporaryFile } from './platform/files/testing.ts'
import { ZipArchive } from './platform/files/zip.ts'
import { createCaller } from './platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'
import { askAll } from './platform/testing/visibility-model.ts'
import {
  createWorld,
  type ModelAsset,
  moveAsset,
  type Reader,
  type World,
} from './platform/testing/visibility-world.ts'

/** The number of random requests. `npm run soak` sends 100,000. */
const questions = process.env.MILLWRIGHT_TEST_ARRANGEMENT === 'split' ? 200 : randomCases(250)

test('returns exactly the readable data in every service, for random queries and access group changes', async () => {
  await using hub = await testHub()
  await askAll(hub, { questions, seed: 1 })
})

describe('files', () => {
  let hub: TestHub
  let world: World
  /** The names, serial numbers and MAC addresses of each asset, which must not be in files of other callers. */
  const details = new Map<string, string[]>()

  before(async () => {
    hub = await testHub()
    world = await createWorld(hub, ['glb_file_import', 'glb_file_export', 'glb_inventory_read_relation_data'])
    for (const id of world.assets.keys()) {
      const { data: asset } = await world.admin.inventory.readAsset({ params: { id }, query: {} })
      const { data: identifiers } = await world.admin.inventory.readIdentifiers({ params: { id } })
      const values = JSON.stringify([asset, identifiers]).match(/"(?:Device \d+|SN\d+|02(?::[0-9a-f]{2}){5})"/g) ?? []
      details.set(
        id,
        values.map((value) => value.slice(1, -1)),
      )
    }
    assert.ok(
      [...details.values()].some((values) => values.length >= 3),
      'no asset has a name, a serial number and a MAC address',
    )
  })
  after(() => hub[Symbol.asyncDispose]())

  const canRead = ({ groups, readsGateways }: Reader, { group, kind }: ModelAsset) =>
    groups.has(group) || (readsGateways && kind !== 'Device')
  const readable = (reader: Reader) => [...world.assets.values()].filter((asset) => canRead(reader, asset))
  const hidden = (reader: Reader) => [...world.assets.values()].filter((asset) => !canRead(reader, asset))
  /** The readers that can read some assets, and not others. */
  const partialReaders = () => world.readers.filter((one) => readable(one).length > 0 && hidden(one).length > 0)

  async function startExport(caller: TestCaller, request: ExportRequest): Promise<string> {
    return (await caller.exports.createExport({ body: { data: request } })).data.exportId
  }

  async function fetchContent(caller: TestCaller, exportId: string): Promise<Response> {
    const headers = { authorization: `Bearer ${caller.token}` }
    return fetch(new URL(`/exports/v1/files/${exportId}/content`, await hub.listen()), { headers })
  }

  async function finishedExport(caller: TestCaller, request: ExportRequest): Promise<string> {
    const exportId = await startExport(caller, request)
    const pause = growingPause()
    for (;;) {
      const { data } = await caller.exports.readExport({ params: { exportId } })
      if (data.state === 'finished') return exportId
      assert.ok(unfinishedExportStates.includes(data.state), JSON.stringify(data))
      await pause()
    }
  }

  /** Runs a dry run of an import, and returns its id. */
  async function finishedDryRun(caller: TestCaller, content: string): Promise<string> {
    const body = { mediaType: importMediaTypes.csv, content }
    const { importId } = (await caller.imports.uploadFile({ query: { dryRun: true }, body })).data
    const pause = growingPause()
    for (;;) {
      const { data } = await caller.imports.readImport({ params: { importId } })
      if (data.state === 'finished') return importId
      assert.ok(['queued', 'running'].includes(data.state), JSON.stringify(data))
      await pause()
    }
  }

  async function rowsOf(caller: TestCaller, importId: string): Promise<ImportRow[]> {
    return (await caller.imports.listRows({ params: { importId }, query: { limit: 100 } })).data
  }

  /** Returns the text of a file. The entries of an archive follow each other. */
  async function textOf(content: Buffer): Promise<string> {
    if (!content.subarray(0, 2).equals(Buffer.from('PK'))) return content.toString()
    using file = temporaryFile(content)
    const archive = await ZipArchive.open(file.path, { entries: 10_000, unpackedBytes: 64 * 1024 * 1024 })
    const parts: Buffer[] = []
    for (const name of archive.names) for await (const chunk of archive.read(name)) parts.push(chunk)
    return Buffer.concat(parts).toString()
  }

  async function textOfExport(reader: Reader, request: ExportRequest): Promise<string> {
    const response = await fetchContent(reader.caller, await finishedExport(reader.caller, request))
    assert.equal(response.status, 200)
    const text = await textOf(Buffer.from(await response.arrayBuffer()))
    // The identifier of a link starts with the id of its gateway. This id is part of the link.
    return text.replaceAll(/[0-9a-f-]{36}\/link-\d-/g, '')
  }

  function assertHidden(reader: Reader, text: string, where: string): void {
    const values = hidden(reader).flatMap(({ id }) => [id, ...(details.get(id) ?? [])])
    const leaked = values.filter((value) => new RegExp(`(?<![\\w:-])${value}(?![\\w:-])`).test(text))
    assert.deepEqual(leaked, [], `${where} contains hidden assets`)
  }

  const assetsIn = (text: string) => [...new Set(idsIn(text))].filter((id) => world.assets.has(id)).toSorted()
  const idsOf = (assets: readonly ModelAsset[]) => assets.map(({ id }) => id).toSorted()

  /** Compares the text of an export with the model. */
  function check(reader: Reader, what: ExportContent, { text, where }: { text: string; where: string }): void {
    assertHidden(reader, text, where)
    if (what === 'hierarchy') assert.deepEqual(assetsIn(text), [], where)
    if (what === 'graph') assert.deepEqual(assetsIn(text), idsOf(readable(reader)), where)
    if (what !== 'relations') return
    const isReadable = ({ type, id }: { type: string; id: string }) =>
      type === 'node' || readable(reader).some((asset) => asset.id === id)
    const shown = world.relations.filter(({ subject, object }) => isReadable(subject) && isReadable(object))
    const named = world.relations.filter(({ id }) => text.includes(id))
    assert.deepEqual(
      named.map(({ id }) => id),
      shown.map(({ id }) => id),
      where,
    )
  }

  const requests = exportContents
    .filter((what) => what !== 'audit')
    .flatMap((what) => formatsOf[what].map((format): ExportRequest => ({ what, format })))

  test('an export contains nothing of hidden assets, in every content and format', onlyInLongRuns, async () => {
    for (const [index, request] of requests.entries()) {
      const readers = partialReaders()
      // Two readers with different groups export each format.
      for (const offset of [0, 3]) {
        const reader = readers[(index * 5 + offset) % readers.length] as Reader
        const where = `${request.what} as ${request.format}`
        const text = await textOfExport(reader, request)
        check(reader, request.what, { text, where })
        const isComplete = request.what === 'assets' && request.format !== 'cyclonedx'
        if (isComplete) assert.deepEqual(assetsIn(text), idsOf(readable(reader)), where)
      }
    }
  })

  test('an export of one hidden asset or its graph is refused like that of a missing asset', async () => {
    for (const { what, format } of requests.filter((request) => ['assets', 'graph'].includes(request.what))) {
      const [reader] = partialReaders() as [Reader]
      const [asset] = hidden(reader) as [ModelAsset]
      for (const assetId of [asset.id, world.hierarchy.id])
        await assert.rejects(startExport(reader.caller, { what, format, assetId }), { code: 'not_found' }, what)
    }
    const [reader] = partialReaders() as [Reader]
    for (const asset of readable(reader)) {
      const assetId = asset.id
      for (const request of [
        { what: 'graph', format: 'json', depth: 3, assetId },
        { what: 'assets', format: 'aas-json', assetId },
        { what: 'assets', format: 'cyclonedx', assetId },
      ] as const)
        assertHidden(reader, await textOfExport(reader, request), JSON.stringify(request))
    }
  })

  test('an export of the audit trail requires its permission, and contains the entries of the list', async () => {
    const entries = { action: 'inventory.setAccessGroup' }
    const [reader] = partialReaders() as [Reader]
    for (const format of formatsOf.audit) {
      const { data } = await reader.caller.audit.listEntries({ query: { ...entries, limit: 100 } })
      const text = await textOfExport(reader, { what: 'audit', format, entries })
      assert.deepEqual(
        data.filter(({ id }) => !text.includes(id)),
        [],
      )
      const other = await createCaller(hub, [{ permissions: ['glb_file_export', 'inventory_read_asset_data'] }])
      await assert.rejects(startExport(other, { what: 'audit', format }), { code: 'forbidden' })
    }
  })

  test('the export of another user does not exist, also for an administrator', async () => {
    const [reader, other] = partialReaders() as [Reader, Reader]
    const exportId = await finishedExport(reader.caller, { what: 'assets', format: 'csv' })
    const params = { exportId }
    assert.equal((await fetchContent(other.caller, exportId)).status, 404)
    for (const operation of ['readExport', 'cancelExport', 'deleteExport'] as const)
      await assert.rejects(other.caller.exports[operation]({ params }), { code: 'not_found' }, operation)
    const listed = await other.caller.exports.listExports({ query: { limit: 100 } })
    assert.ok(!listed.data.some(({ id }) => id === exportId))
    assert.notEqual((await fetchContent(world.admin, exportId)).status, 200)
  })

  /** Returns a table with the MAC address and a description for each device. */
  function tableOf(assets: readonly ModelAsset[]): string {
    const addresses = assets.flatMap(({ id }) => details.get(id)?.find((value) => value.includes(':')) ?? [])
    return ['MAC address,Description', ...addresses.map((address) => `${address},seen`), ''].join('\n')
  }

  test('the import of another user does not exist for a caller that cannot read all assets', async () => {
    const devices = [...world.assets.values()].filter(({ kind }) => kind === 'Device')
    const importId = await finishedDryRun(world.admin, tableOf(devices))
    assert.ok((await rowsOf(world.admin, importId)).every(({ assetId }) => assetId !== undefined))
    const params = { importId }
    for (const { caller } of partialReaders()) {
      const { data, meta } = await caller.imports.listImports({ query: {} })
      assert.deepEqual([data, meta.totalElements], [[], 0])
      for (const operation of ['readImport', 'listRows', 'readReport', 'cancelImport', 'runImport', 'deleteImport'])
        await assert.rejects(
          caller.imports[operation as 'readImport']({ params, ...(operation === 'listRows' && { query: {} }) }),
          { code: 'not_found' },
          operation,
        )
    }
  })

  test('the rows of an own import show an asset only while the caller can read it', async () => {
    const importer = await createCaller(hub, [
      { permissions: ['glb_file_import', 'glb_file_export'] },
      {
        permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'],
        accessGroupId: String(world.groups[0]?.id),
      },
    ])
    const devices = [...world.assets.values()].filter(({ kind }) => kind === 'Device')
    const importId = await finishedDryRun(importer, tableOf(devices))
    const isOwn = (asset: ModelAsset | undefined) => asset?.group === 0
    const shown = async () => (await rowsOf(importer, importId)).map(({ assetId }) => assetId)
    const expected = () => devices.map((asset) => (isOwn(asset) ? asset.id : undefined))
    assert.deepEqual(await shown(), expected())
    const asset = devices.find(isOwn) ?? assert.fail('no device is in the group')
    await moveAsset(world, asset, 1)
    assert.deepEqual(await shown(), expected())
    const [first] = (await rowsOf(importer, importId)).filter(({ row }) => row === devices.indexOf(asset) + 2)
    assert.equal(first?.matchedBy, undefined)
  })
})
