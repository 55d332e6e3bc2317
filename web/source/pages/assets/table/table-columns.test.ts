import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movedColumn, pinToggled, type TableColumn } from './table-columns.ts'

const columns: TableColumn[] = ['a', 'b', 'c', 'd'].map((path, index) => ({ path, width: 100, isPinned: index === 0 }))
const orderOf = (some: readonly TableColumn[]) => some.map(({ path }) => path).join('')

test('moves a pinned column only among pinned columns, and other columns only among the others', () => {
  assert.equal(orderOf(movedColumn(columns, 'b', 3)), 'acdb')
  assert.equal(orderOf(movedColumn(columns, 'd', 0)), 'adbc')
  assert.equal(orderOf(movedColumn(columns, 'a', 3)), 'abcd')
  assert.equal(orderOf(movedColumn(columns, 'b', 9)), 'abcd')
})

test('moves a column to the pinned columns, and behind them when it is unpinned', () => {
  const pinned = pinToggled(columns, 'c')
  assert.equal(orderOf(pinned), 'acbd')
  assert.equal(orderOf(pinToggled(pinned, 'a')), 'cabd')
})
