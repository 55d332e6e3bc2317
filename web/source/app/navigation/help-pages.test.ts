import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DocumentationSite } from '@millwright/cloud/documentation/site.ts'
import { areas } from './areas.ts'
import { helpAddress, helpPages } from './help-pages.ts'

const routes = areas.flatMap((area) =>
  area.routes.map(({ path }) => [area.path, path].filter((part) => part !== '' && part !== '/').join('/') || '/'),
)

test('every page of the console has a page of the documentation', () => {
  assert.ok(routes.length > 40)
  assert.deepEqual(
    routes.filter((route) => helpAddress(route) === '/docs'),
    [],
  )
})

test('the mapping names only pages of the console', () => {
  assert.deepEqual(
    Object.keys(helpPages).filter((key) => !routes.includes(key.split('?')[0] ?? '')),
    [],
  )
})

test('every page and section that the console opens exists in the documentation', async () => {
  const site = await DocumentationSite.load()
  const missing = await Array.fromAsync(Object.values(helpPages), async (target) => {
    const [path, anchor] = target.split('#')
    const page = site.find(`/docs/${path}`)
    if (page === undefined) return [target]
    const { headings } = await site.render(page)
    return anchor === undefined || headings.some(({ id }) => id === anchor) ? [] : [target]
  })
  assert.deepEqual(missing.flat(), [])
})

test('opens the section of the current view, and the page of the route for other views', () => {
  assert.equal(helpAddress('/updates', { view: 'trust' }), '/docs/how-to/update-devices#trust-a-signer')
  assert.equal(helpAddress('/updates', { view: 'campaigns', page: 2 }), '/docs/how-to/update-devices')
  assert.equal(helpAddress('/assets/$id', { tab: 'identity' }), '/docs/explanation/identity-of-assets')
  assert.equal(helpAddress('/constructor'), '/docs')
})
