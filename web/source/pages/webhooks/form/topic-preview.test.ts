import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicPreview, unknownPlaceholders } from './topic-preview.ts'

test('topicPreview replaces all placeholders of a topic template', () => {
  assert.equal(
    topicPreview(' millwright/{tenant}/{kind}/{id} ', 'main'),
    'millwright/main/asset/0198f0c2-7b1e-7c3a-9d55-0242ac120002',
  )
  assert.equal(topicPreview('{tenant}/{tenant}', 'main'), 'main/main')
  assert.equal(topicPreview('{tenant}', 'a/b+c'), 'a%2Fb%2Bc')
})

test('unknownPlaceholders returns the placeholders that do not exist', () => {
  assert.deepEqual(unknownPlaceholders('a/{tenant}/{Kind}/{}'), ['{Kind}', '{}'])
  assert.deepEqual(unknownPlaceholders('a/b'), [])
  assert.deepEqual(unknownPlaceholders('a/{tenant}/{id}', { isStatus: true }), ['{id}'])
})
