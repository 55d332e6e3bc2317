import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssetPages, type PageRequest, pageSize } from './asset-pages.ts'

const total = 1_000_000

function platform() {
  const questions: PageRequest[] = []
  const changed: (() => void)[] = []
  const ask = async (question: PageRequest) => {
    questions.push(question)
    const start = (question.cursor === undefined ? 0 : Number(question.cursor)) + question.offset
    const rows = Array.from({ length: Math.min(pageSize, total - start) }, (_, at) => ({ id: `${start + at}` }))
    const nextCursor = rows.length === pageSize ? `${start + pageSize}` : undefined
    return { rows, total: question.count ? total : undefined, nextCursor }
  }
  const pages = new AssetPages(ask, () => {
    for (const each of changed.splice(0)) each()
  })
  const until = async (isDone: () => boolean) => {
    while (!isDone()) await new Promise<void>((resolve) => changed.push(resolve))
  }
  return { pages, questions, until }
}

test('loads the next page by cursor and a distant page by offset, and places its rows at the correct index', async () => {
  const { pages, questions, until } = platform()
  await until(() => pages.rowAt(0) !== undefined)
  assert.equal(pages.total, total)
  pages.setVisibleRange(90, 130)
  await until(() => pages.rowAt(130) !== undefined)
  assert.equal(pages.rowAt(130)?.id, '130')
  assert.ok(questions.slice(1).every(({ cursor }) => cursor !== undefined))

  pages.setVisibleRange(500_000, 500_040)
  await until(() => pages.rowAt(500_040) !== undefined)
  assert.equal(pages.rowAt(500_000)?.id, '500000')
  assert.equal(pages.rowAt(500_040)?.id, '500040')
  pages.setVisibleRange(999_960, 999_999)
  await until(() => pages.rowAt(999_999) !== undefined)
  assert.equal(pages.rowAt(999_999)?.id, '999999')
  pages.stop()
})

test('keeps rows visible while they are reloaded', async () => {
  const { pages, questions, until } = platform()
  await until(() => pages.rowAt(0) !== undefined)
  const before = questions.length
  pages.refresh()
  assert.notEqual(pages.rowAt(0), undefined)
  await until(() => questions.length > before)
  pages.stop()
})
