import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { until } from './platform.ts'

describe('the time limit of a step in the browser', () => {
  let browser: Browser
  let page: Page

  before(async () => {
    ;({ browser } = await openBrowser({ stepMs: 2_000 }))
    page = await (await browser.newContext()).newPage()
    await page.setContent('<a download="large.txt" href="data:text/plain,text">Download</a>')
  })
  after(() => browser?.close())

  test('a function of the page that does not return fails with the name of the step', async () => {
    const endless = () => new Promise<void>(() => {})
    await assert.rejects(page.evaluate(endless), /page\.evaluate\(.*new Promise.*\): not finished within 2000 ms/)
    const link = page.locator('a')
    await assert.rejects(link.evaluate(endless), /locator\('a'\)\.evaluate\(.*\): not finished within 2000 ms/)
    assert.equal(await page.evaluate(() => 6 * 7), 42)
    assert.equal(await link.evaluate((element, suffix) => element.textContent + suffix, '!'), 'Download!')
  })

  test('the error of a step that waits for an element contains the address and the headings of the page', async () => {
    const other = await page.context().newPage()
    await other.setContent('<h1>Updates</h1><div role="alert">Connection lost</div>')
    const waiting = other.getByText('New campaign').waitFor({ timeout: 100 })
    const error = await waiting.catch((thrown: Error) => thrown)
    for (const text of [error?.message, error?.stack])
      assert.match(text ?? '', /Timeout 100ms exceeded.*Page: about:blank \["Updates","Connection lost"\]/s)
    await other.close()
  })

  test('a downloaded file has its content, and its steps have the limit', async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('a').click()])
    assert.ok(Object.hasOwn(file, 'path'))
    assert.equal(typeof (await file.path()), 'string')
  })

  test('a page that another page opened has the limit', async () => {
    const [opened] = await Promise.all([page.waitForEvent('popup'), page.evaluate(() => void open('about:blank'))])
    await assert.rejects(
      opened.evaluate(() => new Promise<void>(() => {})),
      /not finished within 2000 ms/,
    )
  })
})

test('a condition that does not return fails with its description', async () => {
  const endless = () => new Promise<boolean>(() => {})
  await assert.rejects(until('the device answers', endless, 50), /the device answers: not finished within 50 ms/)
})
