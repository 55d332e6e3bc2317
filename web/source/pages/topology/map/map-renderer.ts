import { hull } from './boxes.ts'
import { between, type Camera, cameraFor, moved, onScreen, type Size, zoomed } from './camera.ts'
import type { Box } from './geometry.ts'
import { isInsideShown, isSummarized, isTreeSummarized } from './inside.ts'
import { type MapPalette, mapPaletteOf } from './map-palette.ts'
import type { MapTexts, MapView } from './map-pen.ts'
import { paint } from './painter.ts'
import type { Frame, Scene, SceneItem } from './scene.ts'
import { rootKey } from './scene-keys.ts'

export type MapEvents = {
  onPick: (item: SceneItem | undefined) => void
  onHover: (item: SceneItem | undefined, at: { x: number; y: number }) => void
  /** The user zoomed: these groups are large enough to show their inside, and `within` is the group that fills the map. */
  onZoom: (groups: readonly string[], within: string) => void
}

/** A group with at least this part of the width of the map is opened by zooming. */
const openedFrom = 0.45
/** The open group that has at least this part of the map is the current place. */
const placeFrom = 0.55
/** The margin around a cluster that fills the map, in pixels. */
const clusterMargin = 16
/** Boxes are stretched up to this factor, so that a group fills the map. */
const mostStretch = 1.8
const settledMs = 180
const motionMs = 350
/** A pointer that moved less than this number of pixels was a click. */
const clickPixels = 5

/** `MapRenderer` draws the map into a canvas, and moves its camera with the mouse, with touch and with buttons. */
export class MapRenderer {
  readonly #canvas: HTMLCanvasElement
  readonly #events: MapEvents
  readonly #observers: { disconnect: () => void }[] = []
  readonly #stop = new AbortController()
  readonly #pointers = new Map<number, { x: number; y: number }>()
  #palette: MapPalette
  #size: Size = { width: 0, height: 0 }
  #scene: Scene | undefined
  #view: MapView | undefined
  #texts: MapTexts | undefined
  #camera: Camera | undefined
  /** The key of the frame that the camera follows until the user moves the camera. */
  #followed: string | undefined = rootKey
  /** The keys of the items that are visible together with the followed item. */
  #together: readonly string[] = []
  #frame = 0
  /** The frame of the movement of the camera, or 0 if the camera does not move. */
  #motion = 0
  #settling = 0
  #dragged = 0

  constructor(canvas: HTMLCanvasElement, events: MapEvents) {
    this.#canvas = canvas
    this.#events = events
    this.#palette = mapPaletteOf(canvas)
    const resized = new ResizeObserver(() => this.#resize())
    resized.observe(canvas)
    const themed = new MutationObserver(() => {
      this.#palette = mapPaletteOf(canvas)
      this.#redraw()
    })
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-ix-color-schema'] })
    this.#observers.push(resized, themed)
    const { signal } = this.#stop
    canvas.addEventListener('wheel', (event) => this.#wheel(event), { signal, passive: false })
    canvas.addEventListener('pointerdown', (event) => this.#press(event), { signal })
    canvas.addEventListener('pointermove', (event) => this.#move(event), { signal })
    canvas.addEventListener('pointerup', (event) => this.#release(event), { signal })
    canvas.addEventListener('pointercancel', (event) => this.#pointers.delete(event.pointerId), { signal })
    canvas.addEventListener('pointerleave', () => events.onHover(undefined, { x: 0, y: 0 }), { signal })
  }

  dispose(): void {
    this.#stop.abort()
    cancelAnimationFrame(this.#frame)
    cancelAnimationFrame(this.#motion)
    clearTimeout(this.#settling)
    for (const observer of this.#observers) observer.disconnect()
  }

  show(scene: Scene, view: MapView, texts: MapTexts): void {
    this.#scene = scene
    this.#view = view
    this.#texts = texts
    if (this.#followed !== undefined && this.#motion === 0)
      this.#camera = this.#cameraOf(this.#followed) ?? this.#camera
    this.#redraw()
  }

  /** Moves the camera to a group or an asset, or so that it is visible together with other items. Follows it if its box is not known yet. */
  focusOn(key: string, together: readonly string[] = []): void {
    this.#followed = key
    this.#together = together
    const target = this.#cameraOf(key)
    if (target !== undefined) this.#animate(target)
  }

  zoom(direction: 'in' | 'out' | 'all'): void {
    if (direction === 'all') {
      this.focusOn(rootKey)
      return
    }
    const { width, height } = this.#size
    this.#zoomAt(direction === 'in' ? 1.6 : 1 / 1.6, { x: width / 2, y: height / 2 })
  }

  #cameraOf(key: string): Camera | undefined {
    const { width, height } = this.#size
    if (this.#scene === undefined || width === 0 || height === 0) return undefined
    const free = { width, height }
    if (key === rootKey) return cameraFor(this.#scene.root.box, free, { margin: 4, mostStretch })
    const item = this.#scene.items.get(key)
    if (item === undefined) return undefined
    const together = this.#together.flatMap((each) => this.#scene?.items.get(each)?.box ?? [])
    const clusters = new Set(this.#together.map((each) => this.#scene?.items.get(each)?.cluster))
    const [cluster] = clusters
    if (cluster !== undefined && clusters.size === 1)
      return cameraFor(cluster.box, free, { margin: clusterMargin, mostStretch })
    if (together.length > 0)
      return cameraFor(together.reduce(hull, item.asset === undefined ? (together[0] ?? item.box) : item.box), free, {
        margin: Math.min(width, height) * 0.14,
        mostStretch,
      })
    // An asset is shown with the assets next to it.
    const margin = item.asset === undefined ? 10 : Math.min(width, height) * 0.32
    return cameraFor(item.box, free, item.asset === undefined ? { margin, mostStretch } : { margin })
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas
    const ratio = Math.min(2, devicePixelRatio)
    this.#size = { width, height }
    this.#canvas.width = Math.round(width * ratio)
    this.#canvas.height = Math.round(height * ratio)
    if (this.#followed !== undefined) this.#camera = this.#cameraOf(this.#followed) ?? this.#camera
    // Setting the size clears the canvas, so it is drawn at once and does not flicker.
    this.#draw()
  }

  #redraw(): void {
    // A movement of the camera draws every frame.
    if (this.#motion !== 0) return
    cancelAnimationFrame(this.#frame)
    this.#frame = requestAnimationFrame(() => this.#draw())
  }

  #draw(): void {
    const context = this.#canvas.getContext('2d')
    const [scene, view, texts] = [this.#scene, this.#view, this.#texts]
    if (context === null || scene === undefined || view === undefined || texts === undefined) return
    this.#camera ??= this.#cameraOf(rootKey)
    if (this.#camera === undefined) return
    const ratio = this.#canvas.width / Math.max(1, this.#size.width)
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    paint(context, { scene, view, texts, camera: this.#camera, size: this.#size, palette: this.#palette })
    this.#canvas.dataset.drawn = String(scene.items.size)
  }

  /** Ends the movement of the camera where it is. */
  #stopMotion(): void {
    cancelAnimationFrame(this.#motion)
    this.#motion = 0
    this.#followed = undefined
  }

  #animate(target: Camera): void {
    cancelAnimationFrame(this.#motion)
    const start = this.#camera ?? target
    const duration = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : motionMs
    const startedAt = performance.now()
    const step = () => {
      const part = duration === 0 ? 1 : Math.min(1, (performance.now() - startedAt) / duration)
      // The movement slows down at its end.
      this.#camera = part === 1 ? target : between(start, target, 1 - (1 - part) ** 3)
      this.#motion = part < 1 ? requestAnimationFrame(step) : 0
      this.#draw()
    }
    step()
  }

  #zoomAt(factor: number, at: { x: number; y: number }): void {
    const whole = this.#cameraOf(rootKey)
    if (this.#camera === undefined || whole === undefined) return
    this.#stopMotion()
    this.#camera = zoomed(this.#camera, factor, { at, whole })
    this.#redraw()
    this.#settle()
  }

  /** Reports the groups that are large enough, after the camera has stopped. */
  #settle(): void {
    clearTimeout(this.#settling)
    this.#settling = window.setTimeout(() => {
      const [scene, camera] = [this.#scene, this.#camera]
      if (scene === undefined || camera === undefined) return
      const isAll = this.#view?.isAll === true
      const { width, height } = this.#size
      const toOpen: string[] = []
      let within: Frame = scene.root
      const visit = (frame: Frame) => {
        for (const item of frame.items) {
          const box = onScreen(camera, item.box)
          const isVisible = box.x < width && box.y < height && box.x + box.width > 0 && box.y + box.height > 0
          if (item.group === undefined || !isVisible) continue
          if (item.frame === undefined && box.width >= width * openedFrom) toOpen.push(item.group.key)
          if (!isInsideShown(item, camera, isAll)) continue
          const covered =
            Math.max(0, Math.min(width, box.x + box.width) - Math.max(0, box.x)) *
            Math.max(0, Math.min(height, box.y + box.height) - Math.max(0, box.y))
          if (covered >= width * height * placeFrom) within = item.frame
          visit(item.frame)
        }
      }
      visit(scene.root)
      this.#events.onZoom(toOpen, within.key)
    }, settledMs)
  }

  #wheel(event: WheelEvent): void {
    event.preventDefault()
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 16 : event.deltaY
    this.#zoomAt(Math.exp(-pixels * 0.0018), { x: event.offsetX, y: event.offsetY })
  }

  #press(event: PointerEvent): void {
    this.#canvas.setPointerCapture(event.pointerId)
    if (this.#pointers.size === 0) this.#dragged = 0
    this.#pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
  }

  #move(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId)
    const at = { x: event.offsetX, y: event.offsetY }
    if (before === undefined) {
      this.#point(at)
      return
    }
    const by = { x: at.x - before.x, y: at.y - before.y }
    this.#dragged += Math.abs(by.x) + Math.abs(by.y)
    if (this.#dragged < clickPixels || this.#camera === undefined) return
    const [other] = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point)
    this.#pointers.set(event.pointerId, at)
    if (other !== undefined) {
      const distance = (point: { x: number; y: number }) => Math.hypot(point.x - other.x, point.y - other.y)
      const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }
      this.#zoomAt(distance(at) / Math.max(1, distance(before)), middle)
      return
    }
    this.#stopMotion()
    this.#camera = moved(this.#camera, by)
    this.#redraw()
    this.#settle()
  }

  #release(event: PointerEvent): void {
    const isClick = this.#pointers.delete(event.pointerId) && this.#pointers.size === 0 && this.#dragged < clickPixels
    if (!isClick) return
    const item = this.#itemAt({ x: event.offsetX, y: event.offsetY })
    if (item?.cluster === undefined || !this.#isSummarized(item)) {
      this.#events.onPick(item)
      return
    }
    this.#followed = undefined
    this.#animate(cameraFor(item.cluster.box, this.#size, { margin: clusterMargin, mostStretch }))
    this.#settle()
  }

  /** Returns whether an asset is not drawn, because its cluster is drawn as one card. */
  #isSummarized({ cluster }: SceneItem): boolean {
    return cluster !== undefined && this.#camera !== undefined && isSummarized(cluster, this.#camera)
  }

  #point(at: { x: number; y: number }): void {
    const found = this.#itemAt(at)
    this.#canvas.style.cursor = found === undefined ? 'grab' : 'pointer'
    const item = found === undefined || this.#isSummarized(found) ? undefined : found
    if (item?.key !== this.#view?.hovered || item !== undefined) this.#events.onHover(item, at)
  }

  /** Returns the innermost item at a point, if it is drawn. */
  #itemAt({ x, y }: { x: number; y: number }): SceneItem | undefined {
    const camera = this.#camera
    if (this.#scene === undefined || camera === undefined) return undefined
    const contains = (box: Box) => x >= box.x && y >= box.y && x <= box.x + box.width && y <= box.y + box.height
    // The first asset of a cluster stands for its card.
    const clusterAt = ({ clusters }: Frame) =>
      clusters.find((cluster) => isSummarized(cluster, camera) && contains(onScreen(camera, cluster.box)))?.items[0]
    const find = (frame: Frame): SceneItem | undefined => {
      const found = frame.items.find((item) => contains(onScreen(camera, item.box)))
      if (found === undefined) return clusterAt(frame)
      if (!isInsideShown(found, camera, this.#view?.isAll === true)) return found
      if (isTreeSummarized(found.frame, camera)) {
        const core = found.frame.summary?.items[0]
        return core !== undefined && contains(onScreen(camera, core.box)) ? core : found
      }
      return find(found.frame) ?? found
    }
    return find(this.#scene.root)
  }
}
