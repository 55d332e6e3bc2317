import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sectionGrid } from './section-grid.ts'

describe('grid of sections', () => {
  const sections = [
    ...['rest', 'rest'],
    ...['a', 'b', 'c'].flatMap((area) => Array.from({ length: 6 }, () => area)),
    ...['d', 'd'],
  ]

  test('a section of a row has the row for itself, and small sections share one', () => {
    const grid = sectionGrid({ sections, aspect: 3, cellAspect: 2 }) ?? assert.fail('no grid')
    assert.deepEqual([grid.columns, grid.rows], [6, 4])
    const rowsOf = (section: string) =>
      new Set(grid.cells.filter((_, index) => sections[index] === section).map(({ row }) => row))
    assert.deepEqual(
      ['a', 'b', 'c'].map((section) => [...rowsOf(section)]),
      [[0], [1], [2]],
    )
    assert.deepEqual([...rowsOf('rest'), ...rowsOf('d')], [3, 3])
  })

  test('each item has its own cell', () => {
    const { cells = [] } = sectionGrid({ sections, aspect: 1, cellAspect: 3 }) ?? {}
    assert.equal(new Set(cells.map(({ column, row }) => `${column} ${row}`)).size, sections.length)
  })

  test('one section has no grid of sections', () => {
    assert.equal(sectionGrid({ sections: ['a', 'a'], aspect: 1, cellAspect: 1 }), undefined)
  })
})
