import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import type { Browser, Locator, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { assertAxeClean, type ConsoleBrowser, consoleOf, follow, narrow, untilDisabled, wide } from './console.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, until } from './platform.ts'
import { assertOverlayReachable, clickAsPerson } from './reachability.ts'

const assetNames = ['PLC 10', 'Press 1', 'Press 2', 'Robot 1']
const viewer = { name: 'viewer-of-trees', password: `the ${plantedWord} of a user` }

describe('hierarchies in the console', () => {
  const folder = temporaryFolder()
  let platform: Platform
  let browser: Browser
  let consoleBrowser: ConsoleBrowser
  let caller: Caller
  let page: Page

  before(async () => {
    ;[platform, { browser }] = await Promise.all([startPlatform({ home: folder.path }), openBrowser()])
    consoleBrowser = consoleOf(platform, browser)
    caller = await callerOf(platform)
    const assets = assetNames.map((name) => ({
      functional_object_type: 'Device',
      functional_object_schema_url: baseSchemaUrl,
      name,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name.replace(' ', '-') }],
      ...(name.startsWith('PLC') && { operating_mode: { mode_name: 'stop' } }),
    }))
    const { data } = await caller.inventory.createAssets({
      headers: { prefer: 'wait=30' },
      body: { data: { assets } },
    })
    assert.equal(data.state, 'finished', JSON.stringify(data))
    ;({ page } = await consoleBrowser.open({ acceptDownloads: true }))
    await consoleBrowser.signIn(page, { path: '/hierarchy' })
  })

  after(async () => {
    await browser?.close()
    await platform?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' }).first()
  const dialog = () => page.getByRole('dialog')
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
  const node = (name: string) => page.getByRole('treeitem', { name: new RegExp(`^${name}\\b`) })
  const nodeHeading = (name: string) => page.getByRole('heading', { level: 2, name, exact: true })
  const entry = (name: string) => page.getByRole('menuitem', { name, exact: true })
  const row = (name: string) => page.locator('.grid-body [role=row]').filter({ hasText: name })
  const count = (text: RegExp) => page.locator('.assets-count').filter({ hasText: text }).waitFor()
  const closed = () => dialog().waitFor({ state: 'detached' })
  const toast = (text: string) => page.locator('ix-toast').filter({ hasText: text }).first().waitFor()
  const undoButton = () => page.locator('ix-toast').getByRole('button', { name: 'Undo' }).last()

  /** Returns the visible names of the tree in display order, with two spaces per level. */
  const shownTree = () =>
    page
      .getByRole('treeitem')
      .evaluateAll((items) =>
        items.map((item) => '  '.repeat(Number(item.getAttribute('aria-level')) - 1) + item.getAttribute('data-name')),
      )
  const treeIs = (lines: string[]) =>
    until(`the tree is ${lines.join(' / ')}`, async () => JSON.stringify(await shownTree()) === JSON.stringify(lines))

  async function hierarchyId(): Promise<string> {
    const [first] = (await caller.hierarchy.listHierarchies({})).data
    return first?.id ?? assert.fail('there is no hierarchy')
  }

  async function addNode(name: string, opener: string): Promise<void> {
    await clickAsPerson(button(opener === 'Add top-level node' ? 'Hierarchy actions' : 'Node actions'))
    await clickAsPerson(entry(opener))
    await dialog().getByLabel('Name', { exact: false }).first().fill(name)
    await inDialog('Create').click()
    await closed()
    await nodeHeading(name).waitFor()
  }

  /** Drags with the mouse, as a person does. The share is the height in the target row. */
  async function drag(from: Locator, to: Locator, share = 0.5): Promise<void> {
    const start = (await from.boundingBox()) ?? assert.fail('the dragged element has no box')
    const end = (await to.boundingBox()) ?? assert.fail('the target has no box')
    const x = start.x + Math.min(60, start.width / 2)
    const y = start.y + start.height / 2
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(x + 10, y + 4, { steps: 3 })
    await page.mouse.move(end.x + end.width / 2, end.y + end.height * share, { steps: 8 })
    await page.mouse.up()
  }

  test('explains hierarchies when there is none, and creates one from a template', async () => {
    await page.getByText('No hierarchy yet').waitFor()
    await assertAxeClean(page, 'page without a hierarchy')
    await clickAsPerson(button(/^Site, building, line and cell/))
    assert.ok(
      await dialog()
        .getByRole('radio', { name: /^Site, building/ })
        .isChecked(),
    )
    await dialog().getByLabel('Name', { exact: false }).first().fill('Plant')
    await assertAxeClean(page, 'dialog for a new hierarchy')
    await assertOverlayReachable(page, 'dialog for a new hierarchy')
    await inDialog('Create').click()
    await page.getByText('No nodes yet. Add a node, or import nodes from a file.').waitFor()
    const { data } = await caller.hierarchy.readHierarchy({ params: { id: await hierarchyId() } })
    assert.equal(data.template, 'plant')
  })

  test('adds nodes with the levels of the template, and shows type and properties', async () => {
    await addNode('Augsburg', 'Add top-level node')
    await addNode('Hall 1', 'Add node below Augsburg')
    await addNode('Line 1', 'Add node below Hall 1')
    await clickAsPerson(node('Augsburg'))
    await nodeHeading('Augsburg').waitFor()
    await addNode('Hall 2', 'Add node below Augsburg')
    await treeIs(['Augsburg', '  Hall 1', '    Line 1', '  Hall 2'])
    await clickAsPerson(button('Node actions'))
    await clickAsPerson(entry('Edit…'))
    await inDialog('Add property').click()
    await dialog().getByRole('textbox', { name: 'Property' }).fill('Cost centre')
    await dialog().getByRole('textbox', { name: 'Value' }).fill('4711')
    await assertAxeClean(page, 'dialog for a node')
    await inDialog('Save').click()
    await closed()
    await page.getByRole('tab', { name: 'Details' }).click()
    await page.getByText('4711').waitFor()
    await page.getByText('This node has not been moved.').waitFor()
    await assertAxeClean(page, 'details of a node')
    await page.getByRole('tab', { name: 'Assets' }).click()
    const { data } = await caller.hierarchy.listNodes({ params: { id: await hierarchyId() }, query: { depth: 5 } })
    assert.deepEqual(
      data.map(({ name, type }) => `${name}: ${type}`),
      ['Augsburg: site', 'Hall 1: building', 'Line 1: line', 'Hall 2: building'],
    )
  })

  test('moves a node by drag and drop, undoes the move, and shows it in the details', async () => {
    await drag(node('Line 1'), node('Hall 2'))
    await treeIs(['Augsburg', '  Hall 1', '  Hall 2', '    Line 1'])
    await toast('Line 1 moved to Hall 2')
    await clickAsPerson(undoButton())
    await toast('Move of Line 1 undone')
    await treeIs(['Augsburg', '  Hall 1', '    Line 1', '  Hall 2'])
    await drag(node('Line 1'), node('Hall 2'))
    await treeIs(['Augsburg', '  Hall 1', '  Hall 2', '    Line 1'])
    await drag(node('Hall 2'), node('Hall 1'), 0.1)
    await treeIs(['Augsburg', '  Hall 2', '    Line 1', '  Hall 1'])
    await clickAsPerson(node('Line 1'))
    await page.getByRole('tab', { name: 'Details' }).click()
    await page.getByText('Augsburg › Hall 1 → Augsburg › Hall 2').first().waitFor()
    await page.getByRole('tab', { name: 'Assets' }).click()
  })

  test('is operated with the keyboard: arrow keys move, Enter selects, F2 edits, Alt with an arrow key reorders', async () => {
    await node('Line 1').focus()
    const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).dataset.name)
    await page.keyboard.press('Home')
    assert.equal(await focused(), 'Augsburg')
    await page.keyboard.press('ArrowLeft')
    await treeIs(['Augsburg'])
    await page.keyboard.press('ArrowRight')
    await treeIs(['Augsburg', '  Hall 2', '    Line 1', '  Hall 1'])
    await page.keyboard.press('ArrowRight')
    assert.equal(await focused(), 'Hall 2')
    await page.keyboard.press('End')
    assert.equal(await focused(), 'Hall 1')
    await page.keyboard.press('Enter')
    await nodeHeading('Hall 1').waitFor()
    await page.keyboard.press('Alt+ArrowUp')
    await treeIs(['Augsburg', '  Hall 1', '  Hall 2', '    Line 1'])
    await until('the moved node has the focus again', async () => (await focused()) === 'Hall 1')
    await toast('Hall 1 is now at position 1')
    await page.keyboard.press('F2')
    await dialog().getByRole('heading', { name: 'Edit node' }).waitFor()
    await inDialog('Cancel').click()
    await closed()
  })

  test('moves a node in a dialog, which searches nodes by name', async () => {
    await clickAsPerson(node('Line 1'))
    await nodeHeading('Line 1').waitFor()
    await clickAsPerson(button('Node actions'))
    await clickAsPerson(entry('Move…'))
    await dialog().getByLabel('Search nodes').fill('hall 1')
    await dialog()
      .getByRole('button', { name: /^Hall 1/ })
      .click()
    await dialog()
      .getByRole('treeitem', { name: /^Hall 1/, selected: true })
      .waitFor()
    await assertAxeClean(page, 'move dialog')
    for (const viewport of [narrow, wide]) {
      await page.setViewportSize(viewport)
      await assertOverlayReachable(page, `move dialog, ${viewport.width} pixels`)
    }
    await inDialog('Move').click()
    await closed()
    await treeIs(['Augsburg', '  Hall 1', '    Line 1', '  Hall 2'])
  })

  test('rejects a move of a node below itself, with the reason', async () => {
    await drag(node('Augsburg'), node('Hall 2'))
    await dialog().getByText('Node cannot be moved below itself').waitFor()
    await page.keyboard.press('Escape')
    await closed()
  })

  test('assigns two unassigned assets to a node, and undoes the assignment', async () => {
    await button(/^Not assigned\s*4\s*, 1 in stop \(old\)/).waitFor()
    await clickAsPerson(button(/^Not assigned/))
    await count(/^4 assets$/)
    await row('Press 1').getByRole('checkbox').check()
    await row('Press 2').getByRole('checkbox').check()
    await clickAsPerson(button('Assign to node…'))
    await dialog().getByLabel('Search nodes').fill('Line')
    await dialog()
      .getByRole('button', { name: /^Line 1/ })
      .click()
    await assertAxeClean(page, 'assign dialog')
    await inDialog('Assign').click()
    await closed()
    await count(/^2 assets$/)
    await page.getByRole('treeitem', { name: /^Line 1 Line 2 assets/ }).waitFor()
    await page.getByRole('treeitem', { name: /^Augsburg Site 2 assets/ }).waitFor()
    await clickAsPerson(undoButton())
    await toast('Assignment undone: 2 assets returned')
    await count(/^4 assets$/)
    await page.getByRole('treeitem', { name: /^Line 1 Line 0 assets/ }).waitFor()
  })

  test('assigns assets by drag and drop, and lists the assets of a node with and without the nodes below', async () => {
    await row('Press 1').getByRole('checkbox').check()
    await row('Press 2').getByRole('checkbox').check()
    await drag(row('Press 1').getByRole('gridcell').nth(2), node('Line 1'))
    await count(/^2 assets$/)
    await clickAsPerson(node('Hall 1'))
    await nodeHeading('Hall 1').waitFor()
    await count(/^2 assets$/)
    await row('Press 1').getByText('Line 1').waitFor()
    await assertAxeClean(page, 'assets of a node')
    await page.getByLabel('Include nodes below').uncheck()
    await page.getByText('No assets in this node').waitFor()
    await page.getByLabel('Include nodes below').check()
    await count(/^2 assets$/)
  })

  test('marks nodes whose problems are not loaded yet, and offers a retry if they could not be loaded', async () => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    const ofChildren = (url: URL) => url.pathname.endsWith('/topology/groups') && url.searchParams.has('parent')
    await page.route(ofChildren, async (route) => {
      await isReleased
      await route.fulfill({ status: 500, contentType: 'application/problem+json', json: { code: 'internal' } })
    })
    await page.reload()
    await page.locator('[role=treeitem][data-name="Hall 1"][aria-busy=true]').waitFor()
    await page.locator('[role=treeitem][data-name="Augsburg"]:not([aria-busy])').waitFor()
    release()
    const failed = page.locator('[role=none]:has(button) + [role=none] > [data-name="Hall 1"]')
    await failed.waitFor()
    await page.unroute(ofChildren)
    await page.getByRole('tree').getByRole('button', { name: 'Try again' }).first().click()
    await failed.waitFor({ state: 'detached' })
    await node('Hall 1').waitFor()
    assert.equal(await node('Hall 1').getAttribute('aria-busy'), null)
  })

  test('shows the path of an asset on its page and in its relations, and links to the node', async () => {
    await row('Press 1').getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Press 1' }).waitFor()
    const path = page.getByRole('navigation', { name: 'Path in Plant' })
    await path.getByRole('link', { name: 'Line 1' }).waitFor()
    assert.equal((await path.getByRole('listitem').allTextContents()).join(' › '), 'Plant › Augsburg › Hall 1 › Line 1')
    await assertAxeClean(page, 'asset page with a path')
    await page.getByRole('tab', { name: 'Relations' }).click()
    await page.locator('.relation-list').getByRole('link', { name: 'Augsburg › Hall 1 › Line 1' }).waitFor()
    await page.locator('.relation-map').getByRole('link', { name: 'Line 1' }).waitFor()
    await clickAsPerson(path.getByRole('link', { name: 'Line 1' }))
    await nodeHeading('Line 1').waitFor()
    await node('Line 1').waitFor()
    await count(/^2 assets$/)
  })

  test('removes assets from a node, and undoes it in the list of assignments', async () => {
    await row('Press 2').getByRole('checkbox').check()
    assert.equal(await button('Assign to node…').count(), 0, 'assets with a node are moved')
    await clickAsPerson(button('Move to node…'))
    await dialog().getByRole('heading', { name: 'Move 1 asset to another node' }).waitFor()
    await page.keyboard.press('Escape')
    await closed()
    await clickAsPerson(button('Remove from node'))
    await count(/^1 asset$/)
    await clickAsPerson(button('Hierarchy actions'))
    await clickAsPerson(entry('Assignments'))
    await dialog().getByText('Removal of selected assets').waitFor()
    await assertAxeClean(page, 'list of assignments')
    await dialog().getByRole('listitem').filter({ hasText: '1 removed' }).getByRole('button', { name: 'Undo' }).click()
    await dialog().getByText('undone').first().waitFor()
    await dialog().getByText('Undo: Removal of selected assets').waitFor()
    await page.keyboard.press('Escape')
    await closed()
    await count(/^2 assets$/)
  })

  test('removes several assets of the nodes below a node at once, and undoes it', async () => {
    await clickAsPerson(node('Hall 1'))
    await nodeHeading('Hall 1').waitFor()
    await count(/^2 assets$/)
    await row('Press 1').getByRole('checkbox').check()
    await row('Press 2').getByRole('checkbox').check()
    await clickAsPerson(button('Remove from node'))
    await page.locator('ix-toast').getByText('2 assets removed from Hall 1').waitFor()
    await page.getByText('No assets in this node').waitFor()
    await clickAsPerson(undoButton())
    await count(/^2 assets$/)
    await page.getByRole('treeitem', { name: /^Line 1 Line 2 assets/ }).waitFor()
  })

  test('assigns all assets of a filter in the background', async () => {
    await clickAsPerson(button(/^All assets/))
    await count(/^\d+ assets$/)
    await clickAsPerson(button('Filter'))
    await page.getByLabel('Filter expression').fill("name eq 'Robot 1'")
    await clickAsPerson(button('Apply'))
    await count(/^1 asset/)
    await clickAsPerson(button('Assign all 1 to node…'))
    await dialog()
      .getByRole('treeitem', { name: /^Augsburg/ })
      .click()
    await inDialog('Assign').click()
    await closed()
    await page.locator('ix-toast').getByText('1 asset assigned to Augsburg').waitFor()
    await page.getByRole('treeitem', { name: /^Augsburg Site 3 assets/ }).waitFor()
    await clickAsPerson(button('Clear'))
  })

  test('assigns selected assets on the page of all assets', async () => {
    await follow(page, '/assets')
    await row('Robot 1').getByRole('checkbox').check()
    await clickAsPerson(button('Assign to node…'))
    assert.equal(await dialog().getByRole('combobox', { name: 'Hierarchy' }).inputValue(), await hierarchyId())
    await dialog().getByLabel('Search nodes').fill('Hall 2')
    await dialog()
      .getByRole('button', { name: /^Hall 2/ })
      .click()
    await inDialog('Assign').click()
    await closed()
    await toast('1 asset moved to Hall 2')
    await follow(page, '/hierarchy')
    await node('Line 1').waitFor()
    await page.getByRole('treeitem', { name: /^Augsburg Site 3 assets/ }).waitFor()
  })

  test('edits rules, shows their proposals, and applies the selected ones', async () => {
    await clickAsPerson(button('Hierarchy actions'))
    await clickAsPerson(entry('Assignment rules'))
    await page.getByRole('heading', { level: 1, name: 'Assignment rules of Plant' }).waitFor()
    await untilDisabled(button('Save rules'))
    await button('Add rule').click()
    await button('Save rules').click()
    await page.getByText('Enter at least one condition').waitFor()
    await page.getByLabel('Name pattern').fill('P*')
    await page.getByLabel('Subnet').fill('10.0.0.0/33')
    await button('Node: Choose node').click()
    await dialog().getByLabel('Search nodes').fill('Hall 2')
    await dialog()
      .getByRole('button', { name: /^Hall 2/ })
      .click()
    await closed()
    await button('Save rules').click()
    await page.getByText('Rule 1: correct the field “Subnet”').waitFor()
    await page.getByLabel('Subnet').fill('')
    await page.locator('.page-above').getByRole('link', { name: 'Hierarchy', exact: true }).click()
    await dialog().getByText('You have changed rules and not saved them.').waitFor()
    await inDialog('Cancel').click()
    await closed()
    await button('Save rules').click()
    await row('PLC 10').waitFor()
    assert.equal(await row('Press 1').count(), 0, 'an assigned asset is proposed')
    await page.getByLabel('Include assets that already have another node (2)').check()
    await row('Press 1').getByText('Augsburg › Hall 1 › ').waitFor()
    await assertAxeClean(page, 'rules')
    await row('Press 1').getByRole('checkbox').uncheck()
    await row('Press 2').getByRole('checkbox').uncheck()
    await clickAsPerson(button('Assign 1 asset'))
    await page.locator('ix-toast').getByText('1 asset assigned', { exact: true }).waitFor()
    await row('PLC 10').waitFor({ state: 'detached' })
    const { data } = await caller.inventory.listAssets({ query: { unassignedIn: await hierarchyId() } })
    assert.ok(!data.some(({ name }) => name === 'PLC 10'), 'the proposed asset is not assigned')
  })

  test('exports nodes as CSV, and shows what an import would change before it changes nodes', async () => {
    await follow(page, '/hierarchy')
    await node('Augsburg').waitFor()
    await clickAsPerson(button('Hierarchy actions'))
    const [file] = await Promise.all([page.waitForEvent('download'), clickAsPerson(entry('Export as CSV'))])
    assert.equal(file.suggestedFilename(), 'Plant.csv')
    const csv = readFileSync(await file.path(), 'utf8')
    assert.match(csv, /Augsburg\/Hall 1\/Line 1/)
    await clickAsPerson(button('Hierarchy actions'))
    await clickAsPerson(entry('Import nodes…'))
    const invalid = Buffer.from('Path\n/x\n/y\n')
    await dialog().getByLabel('File').setInputFiles({ name: 'invalid.csv', mimeType: 'text/csv', buffer: invalid })
    await dialog().getByText('Invalid file').waitFor()
    for (const line of [2, 3])
      await dialog()
        .getByText(new RegExp(`^Line ${line}: a name in the path`))
        .waitFor()
    await untilDisabled(inDialog('Import'))
    const withoutType = csv.replace('Hall 1,building', 'Hall 1,')
    const buffer = Buffer.from(`${withoutType.trimEnd()}\nBremen,site,\n`)
    await dialog().getByLabel('File').setInputFiles({ name: 'plant.csv', mimeType: 'text/csv', buffer })
    await dialog().getByText('To create').waitFor()
    await dialog().getByText('1 node without a type in the file').waitFor()
    await assertAxeClean(page, 'import dialog')
    assert.equal(await node('Bremen').count(), 0)
    await inDialog('Import').click()
    await closed()
    await node('Bremen').waitFor()
  })

  test('shows what a node contains before it deletes the node', async () => {
    await clickAsPerson(node('Augsburg'))
    await nodeHeading('Augsburg').waitFor()
    await clickAsPerson(button('Node actions'))
    await clickAsPerson(entry('Delete…'))
    await dialog().getByText('Contents: 3 nodes below, 4 assigned assets, 1 rule.').waitFor()
    await assertAxeClean(page, 'delete dialog')
    await inDialog('Delete').click()
    await closed()
    await node('Augsburg').waitFor({ state: 'detached' })
    await clickAsPerson(button(/^Not assigned/))
    await count(/^4 assets$/)
    const relations = await caller.inventory.listRelations({ query: { filter: "predicate eq 'is_assigned_to_node'" } })
    assert.deepEqual(relations.data, [])
  })

  test('has no accessibility faults in dark colours, on a phone and in German', async () => {
    await clickAsPerson(node('Bremen'))
    await nodeHeading('Bremen').waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await assertAxeClean(page, 'dark theme')
    await page.setViewportSize(narrow)
    await assertAxeClean(page, 'phone')
    await page.setViewportSize(wide)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('deutsch')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Hierarchie' }).waitFor()
    await assertAxeClean(page, 'German')
  })

  test('shows hierarchies without actions to a user who can only read them', async () => {
    const { data: user } = await caller.identity.createUser({ body: { data: viewer } })
    await caller.authorization.createGrant({ body: { data: { principal: user.id, role: 'viewer' } } })
    const { context, page: viewerPage } = await consoleBrowser.open()
    await consoleBrowser.signIn(viewerPage, { user: viewer, path: '/hierarchy' })
    await viewerPage.getByRole('treeitem', { name: /^Bremen/ }).click()
    await viewerPage.getByRole('heading', { level: 2, name: 'Bremen' }).waitFor()
    assert.equal(await viewerPage.getByRole('button', { name: 'Node actions' }).count(), 0)
    await viewerPage.getByRole('button', { name: 'Hierarchy actions' }).click()
    const entries = await viewerPage.locator('.menu').getByRole('menuitem').allTextContents()
    assert.deepEqual(entries, ['Assignment rules', 'Assignments', 'Export as CSV', 'Export as JSON'])
    await viewerPage.getByRole('menuitem', { name: 'Assignments', exact: true }).click()
    await viewerPage.getByRole('dialog').getByText('Removal of selected assets').first().waitFor()
    assert.equal(await viewerPage.getByRole('dialog').getByRole('button', { name: 'Undo' }).count(), 0)
    await context.close()
  })

  test('no page violates its security policy, throws an error or calls another host', () => {
    assert.deepEqual(consoleBrowser.violations, [])
  })
})
