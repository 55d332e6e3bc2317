import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../checks.ts'

test('the events reference lists every event type that a service emits', () => {
  const listed = typesIn(readFileSync(join(root, 'docs/reference/events.md'), 'utf8'))
  const emitted = globSync('cloud/services/**/*.ts', { cwd: root })
    .filter((file) => !/(?:\.test|testing)\.ts$/.test(file))
    .flatMap((file) => emittedTypes(readFileSync(join(root, file), 'utf8')))
  assert.ok(emitted.length > 30)
  const missing = emitted.filter(
    (type) => !listed.some((name) => (type.endsWith('.') ? name.startsWith(type) : name === type)),
  )
  assert.deepEqual(missing, [])
})

/** Returns the event types in the source. For a template, the result contains the part before the expression. */
function emittedTypes(source: string): string[] {
  return [...source.matchAll(/(?:type|alarm|driver): ['`]([a-z_-]+\.[a-z_-]+\.[a-z-]*)(?:['`]|\$\{)/g)].map(
    ([, type = '']) => type,
  )
}

/** Returns the event types of the first column. `.updated` after `a.b.created` is short for `a.b.updated`. */
function typesIn(page: string): string[] {
  const rows = page.split('\n').filter((line) => /^\| `[a-z_-]+\.[a-z_-]+\./.test(line))
  return rows.flatMap((row) => {
    const names = [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
    const family = names[0]?.replace(/\.[a-z-]+$/, '') ?? ''
    return names.map((name) => (name.startsWith('.') ? `${family}${name}` : name))
  })
}
