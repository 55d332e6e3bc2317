import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { builtInWorkflows } from './built-in.ts'
import { type Box, layoutOf, type Point } from './layout.ts'
import { picture } from './picture.ts'
import { directUpdate, machine } from './testing.ts'

for (const workflow of builtInWorkflows.values()) {
  test(`draws the workflow ${workflow.name} like its picture in the documentation`, () => {
    const kept = readFileSync(new URL(`../../../docs/pictures/workflows/${workflow.name}.svg`, import.meta.url), 'utf8')
    assert.equal(kept, picture(workflow), 'run node tools/workflow-pictures.mjs')
  })
}

test('draws a workflow picture with a text description and without scripts', () => {
  const drawn = picture({ ...directUpdate, description: 'Updates <b>"quickly"</b> & well' })
  assert.match(drawn, /<title id="title">Workflow wfx\.workflow\.dau\.direct<\/title>/)
  assert.match(drawn, /<desc id="description">.*Begins in INSTALL, ends in TERMINATED, ACTIVATED\./)
  assert.match(drawn, /INSTALLED to ACTIVATE immediately/)
  assert.match(drawn, /prefers-color-scheme:dark/)
  assert.doesNotMatch(drawn, /<script|<b>|onload|href=|url\(/)
})

test('draws workflow states as boxes without overlap, and lines that point to the right and cross no box', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(), { minLength: 1, maxLength: 10 }),
      fc.array(fc.nat(), { maxLength: 10 }),
      (tree, more) => {
        const lines = tree.map((pick, index) => `s${pick % (index + 1)} > s${index + 1}`)
        const extra = more.map((pick) => `s${pick % (1 + (pick % tree.length))} > s${1 + (pick % tree.length)}`)
        const {
          boxes,
          lines: drawn,
          width,
          height,
        } = layoutOf(machine(...new Set([...lines, ...extra])), (name) => name)
        for (const box of boxes) {
          assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height)
          for (const other of boxes) assert.ok(box === other || apart(box, other))
        }
        for (const { from, to, points } of drawn) {
          for (const [index, point] of points.entries())
            assert.ok(index === 0 || point.x > (points[index - 1]?.x ?? 0), `${from} > ${to}`)
          const inside = points.slice(1, -1).some((point) => boxes.some((box) => contains(box, point)))
          assert.equal(inside, false, `${from} > ${to}`)
        }
      },
    ),
    { numRuns: 60 },
  )
})

function apart(a: Box, b: Box): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
}

function contains(box: Box, { x, y }: Point): boolean {
  return x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height
}
