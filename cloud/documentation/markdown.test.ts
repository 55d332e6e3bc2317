import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderPage } from './markdown.ts'

const render = (markdown: string) =>
  renderPage({ markdown, resolve: (target) => (target.endsWith('.ts') ? undefined : `/docs/${target}`) })

test('creates the anchors of GitHub for headings, and different anchors for equal headings', () => {
  const { headings, html } = render('# A page\n\n## Use `TLS`, or not\n\n## Limits\n\n## Limits\n')
  assert.deepEqual(
    headings.map(({ id }) => id),
    ['a-page', 'use-tls-or-not', 'limits', 'limits-1'],
  )
  assert.match(html, /<a class="anchor" href="#limits-1" aria-label="Link to the section Limits">/)
})

test('uses the name in the first cell of a table row as its anchor, once per page', () => {
  const { html } = render('| Code | Meaning |\n|---|---|\n| `not_found` | a |\n| `not_found` | b |\n| `a b` | c |\n')
  assert.deepEqual(html.match(/<tr id="[^"]+">/g), ['<tr id="not_found">'])
})

test('renders no HTML of a page, and escapes code, titles and addresses', () => {
  const { html } = render(
    '<!-- generated -->\n\n<img src=x onerror=alert(1)>\n\n`<b>`\n\n[x](a"b)\n\n```sh\na < b & c\n```\n',
  )
  assert.doesNotMatch(html, /generated|onerror|<b>/)
  assert.match(html, /<code>&lt;b&gt;<\/code>/)
  assert.match(html, /href="\/docs\/a(&quot;|%22)b"/)
  assert.match(html, /a &lt; b &amp; c/)
})

test('lets long names and paths in code break after "/" and "_"', () => {
  const { html } = render('`/iam/v1` and `glb_audit_read`')
  assert.match(html, /<code>\/<wbr>iam\/<wbr>v1<\/code> and <code>glb_<wbr>audit_<wbr>read<\/code>/)
})

test('shows links to files that the platform does not serve as text', () => {
  const { html } = render('See [the test](../a.test.ts) and [the guide](guide).')
  assert.match(html, /<span class="source" title="\.\.\/a\.test\.ts">the test<\/span>/)
  assert.match(html, /<a href="\/docs\/guide">the guide<\/a>/)
})

test('returns the text of each section without markup', () => {
  const { sections } = render(
    '# Page\n\nFirst *words*.\n\n## Part\n\n- `one`\n- two\n\n| A | B |\n|---|---|\n| 1 | [2](x) |\n',
  )
  assert.deepEqual(
    sections.map(({ heading, text }) => [heading.text, text]),
    [
      ['Page', 'First words.'],
      ['Part', 'one two A B 1 2'],
    ],
  )
})
