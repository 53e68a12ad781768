"""What all other folders build on: errors, checks of values, safe text, random numbers, executors and the compiler.

It takes plain values and functions. It returns checked values, compiled functions and errors that name the value and
the cure.
"""
