import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { deviceOriginOf } from './device-origin.ts'
import { LinkRewriter } from './link-rewriter.ts'

const origin = 'https://id.remote.test'

async function rewrite(chunks: readonly (string | Buffer)[], port = 80): Promise<string> {
  const device = deviceOriginOf({ service: 'http', address: '10.0.0.5', port })
  const rewriter = new LinkRewriter({ device, origin })
  for (const chunk of chunks) rewriter.write(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk)
  rewriter.end()
  return Buffer.concat(await rewriter.toArray()).toString('latin1')
}

describe('LinkRewriter', () => {
  const cases: [title: string, html: string, expected: string][] = [
    ['an attribute', '<a href="http://10.0.0.5/x">', `<a href="${origin}/x">`],
    ['an attribute with single quotes', "<a href='http://10.0.0.5'>", `<a href='${origin}'>`],
    ['an attribute without quotes', '<a href=http://10.0.0.5/x>', `<a href=${origin}/x>`],
    ['upper case', '<a href="HTTP://10.0.0.5/X">', `<a href="${origin}/X">`],
    ['the default port', '<a href="http://10.0.0.5:80/x">', `<a href="${origin}/x">`],
    ['a link without a scheme', '<img src="//10.0.0.5/x">', '<img src="//id.remote.test/x">'],
    ['a refresh', '<meta content="0; url=http://10.0.0.5/x">', `<meta content="0; url=${origin}/x">`],
    ['a style', 'url(http://10.0.0.5/x)', `url(${origin}/x)`],
    ['escaped slashes of a script', '"http:\\/\\/10.0.0.5\\/x"', '"https:\\/\\/id.remote.test\\/x"'],
    ['the end of the page', '<a href="http://10.0.0.5', `<a href="${origin}`],
  ]
  for (const [title, html, expected] of cases)
    test(`rewrites ${title}`, async () => assert.equal(await rewrite([html]), expected))

  const unchanged = [
    'see http://10.0.0.5/x',
    '"http://10.0.0.50/x"',
    '"http://10.0.0.5.evil.test/"',
    '"http://10.0.0.5:8080/"',
    '"http://10.0.0.5:800/"',
    '"http://10.0.0.5@evil.test/"',
    '"https://10.0.0.5/"',
    '"http://110.0.0.5/"',
    '"http://10.0.0.5-x/"',
    '"/relative"',
  ]
  for (const html of unchanged) test(`does not change ${html}`, async () => assert.equal(await rewrite([html]), html))

  test('rewrites only links with the port of the session', async () => {
    const html = '"http://10.0.0.5:8080/" "http://10.0.0.5/"'
    assert.equal(await rewrite([html], 8080), `"${origin}/" "http://10.0.0.5/"`)
  })

  test('rewrites links to an IPv6 address', async () => {
    const device = deviceOriginOf({ service: 'http', address: 'fd00::5', port: 80 })
    const rewriter = new LinkRewriter({ device, origin })
    rewriter.end('<a href="http://[fd00::5]/x">')
    assert.equal(Buffer.concat(await rewriter.toArray()).toString(), `<a href="${origin}/x">`)
  })

  test('the result does not depend on the chunks', async () => {
    const parts = fc.constantFrom(
      ...[
        '"',
        "'",
        '=',
        '(',
        ' ',
        'http:',
        '//',
        '\\/\\/',
        '10.0.0.5',
        ':80',
        ':8',
        '0',
        '/',
        'x',
        '.',
        'HTTP://10.0.0.5',
      ],
      ...['"http://10.0.0.5', '"//10.0.0.5', '\xff', '\n', '"h', 'ttp', '"http://10.0.0.5:80"'],
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(parts, { maxLength: 40 }),
        fc.array(fc.nat(12), { maxLength: 60 }),
        async (texts, sizes) => {
          const html = texts.join('')
          const chunks: string[] = []
          let position = 0
          for (const size of sizes) {
            chunks.push(html.slice(position, position + size))
            position += size
          }
          chunks.push(html.slice(position))
          assert.equal(await rewrite(chunks), await rewrite([html]))
        },
      ),
      { numRuns: 500 },
    )
  })

  test('the rewriter passes on everything that cannot be the start of a link', () => {
    const device = deviceOriginOf({ service: 'http', address: '10.0.0.5', port: 80 })
    const rewriter = new LinkRewriter({ device, origin })
    rewriter.write('<p>first</p> "htt')
    assert.equal(String(rewriter.read()), '<p>first</p> "')
    rewriter.write('x')
    assert.equal(String(rewriter.read()), 'httx')
  })
})
