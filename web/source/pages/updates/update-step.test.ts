import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { updateStepOf } from './update-step.ts'

const product: DriftProduct = {
  manufacturer: 'Acme',
  product: 'A1',
  devices: 5,
  versions: [],
  newestKnown: '2.0',
  newestArtefactId: 'artefact',
  outdated: 3,
  outdatedWithGateway: 2,
}
const { newestArtefactId, ...withoutArtefact } = product

test('leads to the open campaign of a product before it offers another one', () => {
  const draft = { id: 'one', state: 'draft' } as Campaign
  assert.deepEqual(updateStepOf(product, draft), { kind: 'draft', to: '/updates/campaigns/one', search: {} })
  assert.equal(updateStepOf(product, { ...draft, state: 'running' }).kind, 'campaign')
})

test('leads to a scan, then to the upload of an artefact, then to a new campaign', () => {
  assert.equal(updateStepOf({ ...withoutArtefact, outdatedWithGateway: 0 }, undefined).kind, 'scan')
  assert.equal(updateStepOf(withoutArtefact, undefined).kind, 'upload')
  const { kind, search } = updateStepOf(product, undefined)
  assert.deepEqual([kind, search.artefact], ['plan', newestArtefactId])
})
