import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { BrowserContext, Locator, Page } from 'playwright-core'

/**
 * This file checks that a person with a mouse can use the page. Playwright scrolls every box to reach an element, even
 * a box with hidden overflow, which a person cannot scroll. An element is therefore reachable only under two
 * conditions: scrolling the boxes that a person can scroll brings it into the viewport, and it is the topmost element
 * at its own centre.
 */

type Reachability = {
  faultOf(element: Element): string | undefined
  faultsIn(overlay: Element): string[]
}

/**
 * Checks every click on the pages of this context, and every menu and dialog when it opens. An unreachable control
 * causes an uncaught error of the page.
 */
export async function watchReachability(context: BrowserContext): Promise<void> {
  await context.addInitScript(installReachability)
}

/** The time in which a control, menu or dialog moves, for example after the size of the window changed. */
const moveMs = 30_000

/**
 * Clicks with the mouse at the centre of the element, as a person does. The element can still move, for example after the
 * size of the window changed or a list was loaded again. Playwright clicks when the element does not move, and clicks again
 * if another element got the click.
 */
export async function clickAsPerson(target: Locator): Promise<void> {
  await target.waitFor()
  let fault = await target.evaluate(faultOf)
  for (const deadline = performance.now() + moveMs; fault !== undefined && performance.now() < deadline; ) {
    await delay(50)
    fault = await target.evaluate(faultOf)
  }
  assert.equal(fault, undefined)
  await target.click()
}

export async function isReachable(target: Locator): Promise<boolean> {
  return (await target.evaluate(faultOf)) === undefined
}

/** Returns the open menu or the topmost dialog. */
export function overlayOf(page: Page): Locator {
  return page.locator('dialog[open], .menu:popover-open').last()
}

/** Checks the open menu or dialog, and every control in it that can be clicked. */
export async function assertOverlayReachable(page: Page, where: string): Promise<void> {
  const overlay = overlayOf(page)
  await overlay.waitFor()
  let faults = await overlay.evaluate(faultsIn)
  for (const deadline = performance.now() + moveMs; faults.length > 0 && performance.now() < deadline; ) {
    await delay(50)
    faults = await overlay.evaluate(faultsIn)
  }
  assert.deepEqual(faults, [], where)
}

const faultOf = (element: Element) =>
  (globalThis as unknown as { reachability: Reachability }).reachability.faultOf(element)
const faultsIn = (overlay: Element) =>
  (globalThis as unknown as { reachability: Reachability }).reachability.faultsIn(overlay)

/**
 * Installs the checks in the page. The browser runs this function before the page's own scripts, so the function cannot
 * use anything from this module.
 */
function installReachability(): void {
  const controls =
    'a[href], button, input:not([type=hidden]), select, textarea, summary, ix-button, ix-icon-button, [role=option], [role=tab]'
  /**
   * Returns the parent in the flat tree: the slot of slotted content, the parent element, or the host of a shadow root.
   */
  const parentOf = (element: Element): Element | null => {
    const root = element.getRootNode()
    return element.assignedSlot ?? element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
  }
  const ancestorsOf = (element: Element): Element[] => {
    const parent = parentOf(element)
    return parent === null ? [] : [parent, ...ancestorsOf(parent)]
  }
  const describe = (element: Element) =>
    `${element.tagName.toLowerCase()} "${(element.getAttribute('aria-label') ?? element.textContent ?? '').trim().slice(0, 60)}"`
  const isShown = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return width > 1 && height > 1 && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  }
  const isEnabled = (element: Element) => !element.matches(':disabled, [disabled], .disabled, [aria-disabled=true]')
  const hitAt = (x: number, y: number): Element | null => {
    let hit = document.elementFromPoint(x, y)
    while (hit?.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y)
      if (inner === null || inner === hit) break
      hit = inner
    }
    return hit
  }
  const isScrolledByProgram = (box: Element) => {
    const { overflowX, overflowY } = getComputedStyle(box)
    return (
      (/hidden|clip/.test(overflowX) && box.scrollLeft !== 0) || (/hidden|clip/.test(overflowY) && box.scrollTop !== 0)
    )
  }
  const scrolledByProgram = (element: Element) => ancestorsOf(element).find(isScrolledByProgram)

  const faultOf = (element: Element): string | undefined => {
    element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' })
    const name = describe(element)
    const scrolled = scrolledByProgram(element)
    if (scrolled !== undefined) return `${name} is clipped by ${describe(scrolled)}`
    const { left, top, right, bottom } = element.getBoundingClientRect()
    const isInside = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1
    if (!isInside) return `${name} is outside of the viewport: ${[left, top, right, bottom].map(Math.round)}`
    // The first line is checked, because a link that is broken into several lines has one box per line.
    const line = element.getClientRects()[0] ?? element.getBoundingClientRect()
    const hit = hitAt((line.left + line.right) / 2, (line.top + line.bottom) / 2)
    const label = hit?.closest('label')
    // A hit on the host of a shadow root counts as a hit on a control in the shadow root, because slotted text belongs
    // to the host.
    const root = element.getRootNode()
    const targets = [element, ...(root instanceof ShadowRoot ? [root.host] : [])]
    const isHit =
      hit !== null && ([hit, ...ancestorsOf(hit)].some((each) => targets.includes(each)) || label?.control === element)
    return isHit ? undefined : `${name} is covered by ${hit === null ? 'nothing' : describe(hit)}`
  }
  /** Returns the faults of the controls in an overlay. All scroll positions are restored afterwards. */
  const faultsIn = (overlay: Element): string[] => {
    const boxes = [overlay, ...overlay.querySelectorAll('*'), ...ancestorsOf(overlay)]
    const scrolled = boxes.map((box) => ({ box, left: box.scrollLeft, top: box.scrollTop }))
    try {
      return unreachableIn(overlay)
    } finally {
      for (const { box, left, top } of scrolled) box.scrollTo({ left, top, behavior: 'instant' })
    }
  }
  const unreachableIn = (overlay: Element): string[] => {
    const { left, top, right, bottom } = overlay.getBoundingClientRect()
    const isInside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight
    const place = isInside ? [] : [`${describe(overlay)} is outside of the viewport: ${[left, top, right, bottom]}`]
    const inner = [...overlay.querySelectorAll(controls)].filter((element) => isShown(element) && isEnabled(element))
    return [...place, ...inner.flatMap((element) => faultOf(element) ?? [])]
  }
  Object.assign(globalThis, { reachability: { faultOf, faultsIn } })

  const report = (fault: string) => reportError(new Error(`Not reachable with the mouse: ${fault}`))
  addEventListener(
    'pointerdown',
    (event) => {
      const [target] = event.composedPath()
      const scrolled = target instanceof Element ? scrolledByProgram(target) : undefined
      if (scrolled !== undefined) report(`${describe(target as Element)} was clicked inside ${describe(scrolled)}`)
    },
    true,
  )
  addEventListener(
    'toggle',
    ({ target }) => {
      if (!(target instanceof HTMLElement)) return
      requestAnimationFrame(() => {
        if (target.matches('dialog:modal, :popover-open')) for (const fault of faultsIn(target)) report(fault)
      })
    },
    true,
  )
}
