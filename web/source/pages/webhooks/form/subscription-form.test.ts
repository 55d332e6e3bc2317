import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MqttPublisher, Webhook } from '@millwright/api/event-subscriptions.ts'
import {
  changesOf,
  changesOwner,
  emptyForm,
  errorsOf,
  formOf,
  newPublisherOf,
  newWebhookOf,
} from './subscription-form.ts'

const shared = {
  id: '00000000-0000-4000-8000-000000000001',
  name: 'CMMS',
  types: ['io.millwright.updates.', 'io.millwright.inventory.asset.'],
  accessGroup: null,
  filter: null,
  active: true,
  certificateAuthority: null,
  state: 'active',
  reason: null,
  owner: { id: '00000000-0000-4000-8000-000000000002', name: 'admin' },
  position: 1,
  newestPosition: 1,
  waiting: 0,
  deadLetters: 0,
  circuit: 'closed',
  nextAttemptTimestamp: null,
  lastSuccessTimestamp: null,
  lastFailureTimestamp: null,
  lastError: null,
  createdTimestamp: '2026-01-01T00:00:00.000Z',
  lastModifiedTimestamp: '2026-01-01T00:00:00.000Z',
} as const
const webhook = {
  ...shared,
  types: [...shared.types],
  url: 'https://cmms.example.com/events',
  batchSize: 5,
  previousSecretExpiresTimestamp: null,
} satisfies Webhook
const publisher = {
  ...shared,
  types: [...shared.types],
  url: 'mqtts://broker.example.com:8883',
  clientId: 'millwright-1',
  userName: 'plant',
  hasPassword: true,
  topic: 'plant/{id}',
  retain: true,
  statusTopic: null,
} satisfies MqttPublisher

test('newWebhookOf leaves out an empty name, so that the server chooses one', () => {
  assert.deepEqual(newWebhookOf({ ...emptyForm, url: ' https://a.example/x ', filter: "name eq 'a'" }), {
    url: 'https://a.example/x',
    types: ['io.millwright.inventory.asset.'],
    accessGroup: null,
    filter: "name eq 'a'",
    certificateAuthority: null,
    batchSize: 1,
    active: true,
  })
})

test('newPublisherOf contains a password only if the user typed one', () => {
  const form = { ...emptyForm, url: 'mqtt://broker:1883', topic: 'a/{id}' }
  assert.equal('password' in newPublisherOf(form), false)
  assert.equal('clientId' in newPublisherOf(form), false)
  assert.equal(newPublisherOf({ ...form, password: ' p ' }).password, ' p ')
})

test('changesOf returns only the changed fields of a subscription', () => {
  assert.deepEqual(changesOf(formOf(webhook), webhook), {})
  assert.deepEqual(changesOf(formOf(publisher), publisher), {})
  const form = { ...formOf(webhook), name: 'Plant', batchSize: '20', accessGroup: shared.owner.id }
  assert.deepEqual(changesOf(form, webhook), { name: 'Plant', batchSize: 20, accessGroup: shared.owner.id })
  assert.deepEqual(changesOf({ ...formOf(publisher), userName: '', password: 'x' }, publisher), {
    userName: null,
    password: 'x',
  })
  assert.deepEqual(changesOf({ ...formOf(publisher), isPasswordRemoved: true, password: 'x' }, publisher), {
    password: null,
  })
})

test('changesOwner is false for a change of the name only', () => {
  assert.equal(changesOwner({ name: 'Plant', active: false }), false)
  assert.equal(changesOwner({ name: 'Plant', batchSize: 2 }), true)
})

test('errorsOf names the fields that are missing or invalid', () => {
  assert.deepEqual(errorsOf(formOf(webhook), 'webhook'), {})
  assert.deepEqual(errorsOf(formOf(publisher), 'mqtt'), {})
  const types = { isAll: false, groups: [], prefixes: '' }
  assert.deepEqual(errorsOf({ ...emptyForm, types, batchSize: '0' }, 'webhook'), {
    types: 'typesRequired',
    url: 'required',
    batchSize: 'invalidBatch',
  })
  const invalid = { ...emptyForm, url: 'https://a.example', topic: 'a/{name}', types: { ...types, prefixes: 'Ä' } }
  assert.deepEqual(errorsOf(invalid, 'mqtt'), {
    types: 'invalidPrefix',
    url: 'invalidBroker',
    topic: 'unknownPlaceholder',
  })
  const topics = { ...formOf(publisher), topic: 'a/{type}', statusTopic: 'a/{id}' }
  assert.deepEqual(errorsOf(topics, 'mqtt'), { topic: 'retainWithType', statusTopic: 'unknownPlaceholder' })
})
