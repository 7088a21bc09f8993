(* OCaml byte code: recursion, pattern matching, maps, exceptions. *)
module M = Map.Make (String)
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let count words = List.fold_left (fun m w -> M.update w (function None -> Some 1 | Some n -> Some (n + 1)) m) M.empty words
let () =
  let m = count (String.split_on_char ' ' "the cat and the dog and the end") in
  M.iter (Printf.printf "%s=%d ") m;
  Printf.printf "%d %f %s\n" (fib 18) (sqrt 2.) (try List.assoc 3 [] with Not_found -> "none")
