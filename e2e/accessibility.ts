import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { narrow, wide } from './console.ts'

/** Checks the current page, in its current theme, against the WCAG 2.2 AA rules that a program can check. */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  assert.deepEqual(await page.evaluate(findFaults), [], where)
}

/** Checks the current page in light and dark mode, on a desktop and on a phone. */
export async function assertAccessibleEverywhere(page: Page, where: string): Promise<void> {
  for (const viewport of [wide, narrow]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      await assertAccessible(page, `${where}, ${colorScheme}, ${viewport.width} pixels`)
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(wide)
}

/**
 * Returns the accessibility faults of the page. This function runs in the page, so it cannot use anything outside of
 * its body.
 */
function findFaults(): string[] {
  type Colour = { r: number; g: number; b: number; a: number }

  const parse = (text: string): Colour => {
    const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
    return { r, g, b, a }
  }
  const over = (top: Colour, below: Colour): Colour => {
    const mix = (x: number, y: number) => x * top.a + y * (1 - top.a)
    return { r: mix(top.r, below.r), g: mix(top.g, below.g), b: mix(top.b, below.b), a: 1 }
  }
  const backgroundOf = (element: Element | null): Colour => {
    if (element === null) return { r: 255, g: 255, b: 255, a: 1 }
    const own = parse(getComputedStyle(element).backgroundColor)
    return own.a === 1 ? own : over(own, backgroundOf(element.parentElement))
  }
  const luminance = ({ r, g, b }: Colour): number => {
    const linear = (value: number) => {
      const part = value / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    }
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
  }
  const contrast = (one: Colour, other: Colour): number => {
    const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((x, y) => x - y)
    return (light + 0.05) / (dark + 0.05)
  }
  const isVisible = (element: Element): boolean => {
    const { width, height } = element.getBoundingClientRect()
    return width > 1 && height > 1 && element.checkVisibility()
  }
  const nameOf = (element: Element): string => {
    const labels = 'labels' in element ? [...((element.labels as NodeListOf<Element> | null) ?? [])] : []
    const referred = (element.getAttribute('aria-labelledby') ?? '').split(' ').map((id) => document.getElementById(id))
    const parts = [element.getAttribute('aria-label'), ...[...labels, ...referred].map((each) => each?.textContent)]
    return [...parts, element.textContent].join('').trim()
  }
  const short = (element: Element) => element.outerHTML.slice(0, 100)

  const faults: string[] = []
  if (document.documentElement.lang === '') faults.push('the page does not say its language')
  if (document.title === '') faults.push('the page has no title')
  if (document.querySelectorAll('main').length !== 1) faults.push('there is not exactly one main part')
  if (document.querySelectorAll('h1').length !== 1) faults.push('there is not exactly one first heading')

  const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1]))
  levels.forEach((level, index) => {
    if (level > (levels[index - 1] ?? 0) + 1) faults.push(`a heading skips a level: ${levels.join(' ')}`)
  })
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  for (const id of new Set(ids.filter((each, index) => ids.indexOf(each) !== index))) faults.push(`twice the id ${id}`)
  for (const element of document.querySelectorAll('[aria-labelledby], [aria-describedby]')) {
    const targets = `${element.getAttribute('aria-labelledby') ?? ''} ${element.getAttribute('aria-describedby') ?? ''}`
    for (const id of targets.split(' ').filter((each) => each !== '')) {
      if (document.getElementById(id) === null) faults.push(`${short(element)} refers to ${id}, which is not there`)
    }
  }
  for (const image of document.querySelectorAll('img')) if (!image.hasAttribute('alt')) faults.push(short(image))

  const controls = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
  for (const control of controls.filter((each) => isVisible(each) && each.getAttribute('aria-hidden') !== 'true')) {
    if (nameOf(control) === '') faults.push(`without a name: ${short(control)}`)
    const { width, height } = control.getBoundingClientRect()
    const isInText = control.tagName === 'A' && getComputedStyle(control).display === 'inline'
    if (!isInText && (width < 20 || height < 20)) faults.push(`too small to hit: ${short(control)}`)
  }

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement
    if (element === null || texts.currentNode.textContent?.trim() === '' || !isVisible(element)) continue
    if (element.closest('noscript, script, style, :disabled, option') !== null) continue
    const style = getComputedStyle(element)
    const background = backgroundOf(element)
    const ratio = contrast(over(parse(style.color), background), background)
    const size = Number.parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (ratio < (isLarge ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${short(element)}`)
  }
  for (const field of document.querySelectorAll('input:not([type=hidden]):not([type=checkbox]), select')) {
    if (!isVisible(field)) continue
    const ratio = contrast(parse(getComputedStyle(field).borderTopColor), backgroundOf(field.parentElement))
    if (ratio < 3) faults.push(`the border of a field has contrast ${ratio.toFixed(2)}: ${short(field)}`)
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) {
    faults.push(`it is ${document.documentElement.scrollWidth} pixels wide on ${document.documentElement.clientWidth}`)
  }
  return faults
}
