import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callFor, commandFor } from './export-command.ts'

test('the command contains the selection of the export, quoted for a shell', () => {
  assert.equal(
    commandFor({
      what: 'assets',
      format: 'xlsx',
      filter: "name eq 'Drive 12'",
      q: 'hall 4',
      sort: '-name',
      caseInsensitive: true,
      columns: ['name', 'custom_properties/0198f0c2-7b1e-7c3a-9d55-0242ac120002'],
    }),
    String.raw`millwright export assets --filter 'name eq '\''Drive 12'\''' --query 'hall 4' --sort -name --ignore-case --columns name,custom_properties/0198f0c2-7b1e-7c3a-9d55-0242ac120002 --output assets.xlsx`,
  )
})

test('the command of the audit trail contains the filters of its entries', () => {
  const entries = { action: 'inventory.createAsset', requestId: 'a1', from: '2026-01-01T00:00:00.000Z' }
  assert.equal(
    commandFor({ what: 'audit', format: 'ndjson', entries }),
    'millwright export audit --action inventory.createAsset --request a1 --from 2026-01-01T00:00:00.000Z --output audit.ndjson',
  )
})

test('the API call contains the request as JSON', () => {
  const call = callFor({ what: 'graph', format: 'dot', depth: 2 })
  assert.match(call, /^POST \/exports\/v1\/files\n/)
  assert.deepEqual(JSON.parse(call.slice(call.indexOf('{'))), { data: { what: 'graph', format: 'dot', depth: 2 } })
})
