import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { DocumentationSite } from '@millwright/cloud/documentation/site.ts'
import { SearchIndex } from './search.ts'

describe('the search of the documentation', () => {
  let index: SearchIndex

  before(async () => {
    const site = await DocumentationSite.load()
    index = new SearchIndex(await site.searchIndex())
  })

  const pathsFor = (query: string) => index.find(query, 5).map(({ entry }) => entry.path)
  const firstPage = (query: string) => pathsFor(query)[0]?.split('#')[0]

  test('finds the page or section that describes a subject first', () => {
    assert.equal(firstPage('onboard a gateway'), '/docs/how-to/onboard-a-gateway')
    assert.equal(firstPage('PROFINET'), '/docs/links/profinet')
    assert.equal(firstPage('tls certificate'), '/docs/how-to/use-tls')
    assert.equal(firstPage('back up'), '/docs/how-to/back-up-and-restore')
    assert.equal(firstPage('second factor'), '/docs/how-to/secure-sign-in')
    assert.equal(firstPage('MILLWRIGHT_OUTBOUND_ALLOW')?.startsWith('/docs/'), true)
    assert.ok(pathsFor('invalid_cursor').some((path) => path.startsWith('/docs/reference/problems')))
  })

  test('finds words in other forms and in any order', () => {
    assert.deepEqual(pathsFor('certificates'), pathsFor('certificate'))
    assert.equal(firstPage('hierarchies organise'), '/docs/how-to/organise-assets-in-hierarchies')
    assert.ok(pathsFor('scanning safely plant').length > 0)
  })

  test('marks the words of the query in the excerpt', () => {
    const [result] = index.find('budget', 1)
    assert.ok(result?.excerpt.some(({ text, isMatch }) => isMatch && text.toLowerCase() === 'budget'))
  })

  test('returns nothing for an empty query and for unknown words, and ignores characters of patterns', () => {
    for (const query of ['', '   ', '?!', 'xyzzyplugh', '(((', '[a-'])
      assert.ok(index.find(query, 5).length <= 5, query)
    assert.deepEqual(index.find('', 5), [])
    assert.deepEqual(index.find('xyzzyplugh', 5), [])
  })

  test('returns the sections with most of the words if no section contains all words', () => {
    assert.equal(firstPage('PROFINET xyzzyplugh'), '/docs/links/profinet')
  })
})
