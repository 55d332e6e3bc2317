import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inputTimeOf, readLocalTime } from './local-time.ts'

describe('local time of a field', () => {
  const expected = new Date(2026, 2, 5, 8, 30).getTime()
  const read = (text: string, locale = 'en-GB') => readLocalTime(text, locale)?.getTime()

  test('is read in the format of the language, with numbers, and with the year first', () => {
    for (const text of ['5 Mar 2026, 08:30', '5 March 2026 8:30', '05/03/2026, 08:30', '2026-03-05T08:30:00'])
      assert.equal(read(text), expected, text)
    assert.equal(read('05.03.2026, 08:30', 'de-DE'), expected)
    assert.equal(read('5. März 2026, 08:30', 'de-DE'), expected)
    assert.equal(read('5 Mar 2026'), new Date(2026, 2, 5).getTime())
  })

  test('is read in the format in which each language shows it', () => {
    for (const locale of ['en-GB', 'de-DE'])
      for (let month = 0; month < 12; month++) {
        const at = new Date(2026, month, 28, 23, 5)
        const shown = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }).format(at)
        assert.equal(read(shown, locale), at.getTime(), shown)
      }
  })

  test('is undefined for dates that do not exist and for other texts', () => {
    for (const text of ['31 Feb 2026, 08:30', '5 Mar 2026, 25:00', '5 Ma 2026', '13/13/2026', 'yesterday', ''])
      assert.equal(read(text), undefined, text)
  })

  test('has the format of the date picker of the browser', () => {
    assert.equal(inputTimeOf(new Date(2026, 2, 5, 8, 30).toISOString()), '2026-03-05T08:30')
    assert.equal(inputTimeOf('no time'), '')
  })
})
