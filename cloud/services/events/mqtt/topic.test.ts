import assert from 'node:assert/strict'
import { test } from 'node:test'
import { message } from './testing.ts'
import { findTopicError, isTopicPerObject, statusTopicOf, topicOf } from './topic.ts'

const all = '{tenant}/{type}/{kind}/{id}'

function topicFor(subject: string, { template = all, tenant = 'plant' } = {}): string {
  return topicOf(template, tenant, message(subject).events[0])
}

test('a topic contains the tenant, the type with slashes, and the parts of the subject', () => {
  assert.equal(topicFor('asset/019a'), 'plant/io/millwright/inventory/asset/updated/asset/019a')
  assert.equal(topicFor('asset/019a', { template: 'a/{id}/b/{id}' }), 'a/019a/b/019a')
  assert.equal(topicFor('asset/019a', { template: 'fixed' }), 'fixed')
  assert.equal(topicFor('settings', { template: '{kind}/{id}' }), 'settings/')
  assert.equal(statusTopicOf('status/{tenant}', 'plant'), 'status/plant')
})

test('values add no level, no wildcard and no placeholder to a topic', () => {
  const template = 'x/{kind}/{id}'
  assert.equal(topicFor('role/a/b', { template }), 'x/role/a%2Fb')
  assert.equal(topicFor('role/+#$SYS%', { template }), 'x/role/%2B%23%24SYS%25')
  assert.equal(topicFor('role/a\0\n\u0085', { template }), 'x/role/a%00%0A%C2%85')
  assert.equal(topicFor('role/{id}{tenant}', { template }), 'x/role/{id}{tenant}')
  assert.equal(topicFor('role/Küche', { template }), 'x/role/Küche')
  assert.equal(topicFor('a/b', { template: '{tenant}/{id}', tenant: '$SYS' }), '%24SYS/b')
  assert.equal(topicFor("role/$&$'", { template }), "x/role/%24&%24'")
  assert.ok(topicFor('role/\ud800', { template }).isWellFormed())
  assert.notEqual(topicFor('role/a%2Fb', { template }), topicFor('role/a/b', { template }))
})

test('templates with unknown placeholders, wildcards and invalid characters are refused', () => {
  const check = (topic: string, { statusTopic = null as string | null, retain = false } = {}) =>
    findTopicError({ topic, statusTopic, retain })
  for (const valid of [all, 'fixed', '/a//b/', '{id}', 'a b', 'Küche/{id}'])
    assert.equal(check(valid), undefined, valid)
  for (const wrong of [
    '{x}',
    '{id',
    'id}',
    '{{id}}',
    '{ID}',
    '{}',
    'a/+/b',
    '#',
    '$SYS/x',
    'a\tb',
    'a\u0085',
    '\ud800',
  ])
    assert.equal(check(wrong)?.field, 'topic', wrong)
  assert.equal(check('a/{type}', { retain: true })?.field, 'topic')
  assert.equal(check('a/{id}', { retain: true }), undefined)
  assert.equal(check('a/{id}', { statusTopic: 'status/{tenant}' }), undefined)
  for (const wrong of ['a/{id}', 'status/{kind}', 'status/#'])
    assert.equal(check('a/{id}', { statusTopic: wrong })?.field, 'statusTopic')
})

test('an object has its own topic if the template contains its id', () => {
  assert.equal(isTopicPerObject('a/{kind}/{id}'), true)
  assert.equal(isTopicPerObject('a/{kind}'), false)
})
