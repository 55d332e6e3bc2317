import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { monitoringLimits } from '@millwright/api/monitoring.ts'
import { root } from './checks.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const docs = globSync('docs/**/*.md', { cwd: root }).toSorted()
const pages = [...globSync('*.md', { cwd: root }).toSorted(), ...docs]
const sourceFiles = globSync('{api,bench,cli,cloud,gateway,link-sdk,links,tools,web}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules', '**/*.test.ts', 'web/dist'],
})
const guides = docs.filter((file) => !file.startsWith('docs/decisions/'))

describe('the documentation', () => {
  test('documentation pages link only to existing files and headings', () => {
    const links = pages.flatMap((page) => linksIn(read(page)).map((target) => ({ page, target })))
    assert.ok(links.length > 200)
    assert.deepEqual(
      links.filter(({ page, target }) => !resolves(page, target)).map(({ page, target }) => `${page}: ${target}`),
      [],
    )
  })

  test('each documentation page starts with its purpose', () => {
    assert.ok(guides.length > 20)
    const starts = /^# .+\n\n(?:This (?:guide shows|page (?:lists|describes|defines|explains))|In this tutorial, you) /
    assert.deepEqual(
      guides.filter((file) => !starts.test(read(file))),
      [],
    )
  })

  test('the documentation index lists every page', () => {
    const listed = linksIn(read('docs/README.md')).map((target) => join('docs', target))
    assert.deepEqual(
      guides.filter((file) => file !== 'docs/README.md' && !listed.includes(file)),
      [],
    )
  })

  test('only texts about a checkout name npx, because the package is not published', () => {
    const aboutCheckout = [
      'CONTRIBUTING.md',
      'README.md',
      'cli/server/up.ts',
      'docs/how-to/monitor-devices.md',
      'docs/how-to/receive-events.md',
      'docs/how-to/use-the-command-line.md',
      'docs/tutorial/first-plant.md',
      'tools/generate-protocol.ts',
    ]
    assert.deepEqual([...pages, ...sourceFiles].filter((file) => /\bnpx\b/.test(read(file))).toSorted(), aboutCheckout)
  })

  test('the glossary names only existing folders and files', () => {
    const places = read('docs/glossary.md')
      .split('\n')
      .filter((line) => line.startsWith('|') && line.split(' | ').length === 3)
      .flatMap((line) => [...(line.split(' | ')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, path = '']) => path))
    assert.ok(places.length > 40)
    assert.deepEqual(
      places.filter((path) => !existsSync(join(root, path))),
      [],
    )
  })

  test('the map and the invariants in ARCHITECTURE.md name only existing files', () => {
    const rows = read('ARCHITECTURE.md')
      .split('\n')
      .filter((line) => line.startsWith('| '))
    const named = rows.flatMap((row) => {
      const [first = '', second = ''] = row.slice(2).split(' | ')
      const folders = [...first.matchAll(/`([\w/-]+)`/g)].map(([, path = '']) => path)
      const files = [...second.matchAll(/`([\w/.-]+\.(?:ts|tsx|mjs))`/g)].map(([, path = '']) => path)
      return files.map((file) => ({ folders, file }))
    })
    assert.ok(named.length > 80)
    assert.deepEqual(
      named.filter(({ folders, file }) => !['', ...folders].some((folder) => isIn(folder, file))),
      [],
    )
  })

  test('the section "Follow one request" of the README names only existing functions', () => {
    const section = read('README.md').split('### Follow one request')[1]?.split('\n## ')[0] ?? ''
    const code = linksIn(section).map(read).join('\n')
    const names = [...section.replaceAll(/\[`[^\]]*\]\([^)]*\)/g, '').matchAll(/`([A-Za-z.]+)`/g)].map(
      ([, name = '']) => name,
    )
    assert.ok(names.length > 8)
    assert.deepEqual(
      names.filter(
        (name) => name !== 'ETag' && !name.split('.').every((part) => new RegExp(`\\b${part}\\b`).test(code)),
      ),
      [],
    )
  })

  test('the troubleshooting tables quote messages exactly as the programs print them', () => {
    const guidesWithMessages = ['onboard-a-gateway', 'operate-the-platform', 'receive-events']
    const rows = guidesWithMessages
      .map((name) => `docs/how-to/${name}.md`)
      .flatMap((page) =>
        (read(page).split('## Troubleshooting')[1] ?? '').split('\n').filter((line) => /^\| [`"]/.test(line)),
      )
    const messages = rows.flatMap((row) =>
      [...(row.split(' | ')[0] ?? '').matchAll(/["`]([^"`]*\s[^"`]*)["`]/g)].map(([, text = '']) => text),
    )
    assert.ok(messages.length > 8)
    const code = sourceFiles.map(read).join('\n')
    const parts = messages.flatMap((message) => message.split(/…|\d+/).map((part) => part.trim()))
    assert.deepEqual(
      parts.filter((part) => part.length > 3 && !code.includes(part)),
      [],
    )
  })

  test('the guide of hierarchies states every limit of the contract', () => {
    const {
      importBytes,
      copyBytes,
      propertyBytes,
      exportBytes,
      exportTreeBytes,
      unreadExportBytes,
      lagSeconds,
      ...counts
    } = hierarchyLimits
    const page = read('docs/how-to/organise-assets-in-hierarchies.md')
    const rows = (page.split('## Limits')[1] ?? '').split('\n').filter((line) => line.startsWith('| '))
    const values = rows.map((row) => row.split(' | ')[1] ?? '').join(' ')
    const stated = [...values.matchAll(/[\d,]+\d|\d/g)].map(([text]) => Number(text.replaceAll(',', '')))
    const sizes = [importBytes, copyBytes, propertyBytes, exportBytes, exportTreeBytes, unreadExportBytes]
    const mebibytes = sizes.map((bytes) => bytes / 2 ** 20)
    for (const value of [...Object.values(counts), ...mebibytes]) assert.ok(stated.includes(value), `${value}`)
    assert.equal(lagSeconds, 2)
    assert.match(page, /at most two seconds/)
  })

  test('the guide of webhooks states every limit of the contract', () => {
    const { responseMs, ...limits } = subscriptionLimits
    const rows = (read('docs/how-to/receive-events.md').split('## Limits')[1] ?? '').split('\n')
    const values = rows.map((row) => row.split(' | ')[1] ?? '').join(' ')
    const stated = [...values.matchAll(/[\d,]+\d|\d/g)].map(([text]) => Number(text.replaceAll(',', '')))
    for (const value of [...Object.values(limits), responseMs / 1_000]) assert.ok(stated.includes(value), `${value}`)
  })

  test('the guide of monitoring states the limits of the contract', () => {
    const { monitorings, assetIds, targets, keys, links, runs, availabilityDays, resultHours, changes, valueBytes } =
      monitoringLimits
    const rows = (read('docs/how-to/monitor-devices.md').split('## Limits')[1] ?? '').split('\n')
    const values = rows.map((row) => row.split(' | ')[1] ?? '').join(' ')
    const stated = [...values.matchAll(/[\d,]+\d|\d/g)].map(([text]) => Number(text.replaceAll(',', '')))
    const times = [availabilityDays, resultHours]
    const limits = [monitorings, assetIds, targets, keys, links, runs, ...times, changes, valueBytes]
    for (const value of limits) assert.ok(stated.includes(value), `${value}`)
  })

  test('every documentation page that the code refers to exists', () => {
    const named = sourceFiles.flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => ({ file, page })),
    )
    assert.ok(named.length > 2)
    assert.deepEqual(
      named.filter(({ page }) => !existsSync(join(root, page))),
      [],
    )
  })
})

/** Returns true when a file exists in a folder. If only a file name is given, subfolders are searched too. */
function isIn(folder: string, file: string): boolean {
  if (existsSync(join(root, folder, file))) return true
  return folder !== '' && globSync(`${folder}/**/${file}`, { cwd: root, exclude: ['**/node_modules'] }).length > 0
}

/** Returns the targets of links and pictures. Links to other sites are left out. */
function linksIn(page: string): string[] {
  return [...page.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(
    ([, target = '']) => target,
  )
}

function resolves(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, file))) return false
  if (anchor === undefined || statSync(join(root, file)).isDirectory()) return anchor === undefined
  return !file.endsWith('.md') || headingsIn(read(file)).includes(anchor)
}

/** Returns the anchors that GitHub creates from the headings of a page. */
function headingsIn(page: string): string[] {
  return [...page.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
