declare module 'graphology-layout-forceatlas2/iterate.js' {
  type Settings = { [name: string]: number | boolean }
  /** One round: moves what is in the matrix of nodes. */
  function iterate(settings: Settings, nodes: Float32Array, edges: Float32Array): object
  export = iterate
}
