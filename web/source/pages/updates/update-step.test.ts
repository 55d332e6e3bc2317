import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Campaign, DriftProduct } from '@millwright/api/updates.ts'
import { driftFilter, productsFilter } from './product-filter.ts'
import { canPlanUpdate, updateStepsOf } from './update-step.ts'

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
const otherProduct = { ...product, product: 'A2' }

function campaign(id: string, state: Campaign['state'], targets: Campaign['targets']): Campaign {
  return { id, state, targets, artefactId: 'artefact' } as Campaign
}

const draft = campaign('one', 'draft', { filter: driftFilter(product) })
const pilot = campaign('pilot', 'running', { assetIds: ['a'] })

function stepsOf(...given: Parameters<typeof updateStepsOf>): (string | undefined)[][] {
  return updateStepsOf(...given).map(({ kind, campaign: own }) => (own === undefined ? [kind] : [kind, own.id]))
}

test('leads to the open campaign of a product before it offers another one', () => {
  const [step] = updateStepsOf(product, [draft])
  assert.deepEqual(step, { kind: 'draft', to: '/updates/campaigns/one', search: {}, campaign: draft })
  assert.deepEqual(stepsOf(product, [{ ...draft, state: 'stopped' }]), [['campaign', 'one']])
  const ofProducts = { ...draft, targets: { filter: productsFilter(['A1', 'A2']) } }
  assert.deepEqual(stepsOf(product, [ofProducts]), [['draft', 'one']])
})

test('leads to a draft before other campaigns, and to a new draft before an old one', () => {
  const running = { ...draft, id: 'running', state: 'running' } as const
  assert.deepEqual(stepsOf(product, [running, { ...draft, id: 'new' }, draft]), [['draft', 'new']])
})

test('offers a plan for a product whose artefact has a campaign for another product', () => {
  assert.deepEqual(stepsOf(otherProduct, [draft]), [['plan']])
})

test('leads to the open campaign for a part of the devices before a plan for all of them', () => {
  assert.deepEqual(stepsOf(product, [pilot]), [['campaign', 'pilot'], ['plan']])
  const line = { ...pilot, targets: { filter: "contains(name, 'Line 1')" } }
  assert.deepEqual(stepsOf(product, [line]), [['campaign', 'pilot'], ['plan']])
  assert.deepEqual(stepsOf(product, [pilot, draft]), [['draft', 'one']])
  const unreachable = { ...product, outdatedWithGateway: 0 }
  assert.deepEqual(stepsOf(unreachable, [pilot]), [['campaign', 'pilot'], ['scan']])
})

test('leaves out campaigns of other artefacts', () => {
  assert.deepEqual(stepsOf(product, [{ ...draft, artefactId: 'old' }]), [['plan']])
})

test('leads to a scan, then to the upload of an artefact, then to a new campaign', () => {
  assert.deepEqual(stepsOf({ ...withoutArtefact, outdatedWithGateway: 0 }, []), [['scan']])
  assert.deepEqual(stepsOf(withoutArtefact, []), [['upload']])
  const [step] = updateStepsOf(product, [])
  assert.deepEqual([step?.kind, step?.search.artefact], ['plan', newestArtefactId])
})

test('needs campaigns only for products with outdated devices and an artefact', () => {
  assert.equal(canPlanUpdate(product), true)
  assert.equal(canPlanUpdate(withoutArtefact), false)
  assert.equal(canPlanUpdate({ ...product, outdated: 0 }), false)
})
