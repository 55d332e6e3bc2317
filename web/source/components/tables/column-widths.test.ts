import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnWidths } from './column-widths.ts'

const columns = [{ width: 100 }, { width: 200 }, { width: 150, minWidth: 80 }]

test('gives free width to the columns whose content is cut', () => {
  assert.deepEqual(columnWidths(columns, [180, 90, 60], 600), [180, 200, 150])
})

test('takes width from columns with short contents before it cuts contents', () => {
  assert.deepEqual(columnWidths(columns, [180, 90, 60], 330), [180, 90, 60])
  assert.deepEqual(columnWidths(columns, [180, 90, 60], 430), [180, 145, 105])
})

test('shows complete contents in a table that scrolls', () => {
  assert.deepEqual(columnWidths(columns, [180, 190, 150], 100), [180, 190, 150])
})

test('shrinks columns with a minimum width first, and then the others to their own width', () => {
  assert.deepEqual(columnWidths(columns, [180, 190, 150], 485), [180, 190, 115])
  assert.deepEqual(columnWidths(columns, [180, 190, 150], 410), [140, 190, 80])
})

test('keeps the width of a column that the user has resized, and gives the rest to growing columns', () => {
  const resized = [{ width: 100, isFixed: true }, { width: 100, isGrowing: true }, { width: 50 }]
  assert.deepEqual(columnWidths(resized, [300, 50, 50], 400), [100, 250, 50])
})

test('limits the width for long contents', () => {
  assert.deepEqual(columnWidths([{ width: 100 }, { width: 100 }], [2_000, 90], 900), [420, 100])
})
